//! What streams seldom carry: more buffers than the system takes at once, urgent bytes, descriptors, packets.

use crate::kit::{everywhere, guarded, pair};
use std::io::{IoSlice, IoSliceMut};

/// More than one call takes: what it leaves is no sign that there is no room, or nothing more to read.
#[test]
fn more_buffers_than_the_system_takes_at_once() {
    guarded("many buffers", || {
        everywhere(|| async {
            let (left, right) = pair().await?;
            let bytes = [7; 1];
            let buffers = vec![IoSlice::new(&bytes); 2000];
            let mut sent = 0;
            while sent < 4000 {
                sent += left.write_vectored(&buffers).await?;
            }
            right.readable().await?;
            let mut got = 0;
            let mut space = vec![[0; 1]; 2000];
            while got < sent {
                let mut buffers: Vec<_> = space.iter_mut().map(|byte| IoSliceMut::new(byte)).collect();
                got += right.read_vectored(&mut buffers).await?;
            }
            assert_eq!(got, sent);
            Ok(())
        });
    });
}
