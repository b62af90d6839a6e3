//! A dump of the program, into a file.

use super::client::Client;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Writes a dump, and says where it is or why there is none.
pub(super) async fn dump(client: Client, pid: u64) -> String {
    let text = match client.dump().await {
        Ok(text) => text,
        Err(trouble) => return format!("no dump: {}", trouble.what),
    };
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let name = format!("ropewalk-dump-{pid}-{seconds}");
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    // Where nothing can be written, there is still a place for what may go.
    let written = write(&here, &name, &text).or_else(|_| write(&std::env::temp_dir(), &name, &text));
    match written {
        Ok(path) => format!("dumped to {}", path.display()),
        Err(error) => format!("no dump: it cannot be written to {} ({error})", here.display()),
    }
}

/// To a file that was not there.
fn write(folder: &Path, name: &str, text: &[u8]) -> io::Result<PathBuf> {
    for more in 1..100 {
        let path = folder.join(if more == 1 { format!("{name}.txt") } else { format!("{name}-{more}.txt") });
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => return file.write_all(text).map(|()| path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists))
}

#[cfg(test)]
mod tests {
    use super::write;

    #[test]
    fn nothing_is_written_over() {
        let folder = std::env::temp_dir().join(format!("ropewalk-top-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let paths = [b"one", b"two"].map(|text| write(&folder, "d", text).unwrap());
        let texts = paths.each_ref().map(|path| std::fs::read_to_string(path).unwrap());
        assert_eq!((texts, paths[1].ends_with("d-2.txt")), (["one".to_owned(), "two".to_owned()], true));
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(write(&folder, "d", b"three").is_err());
    }
}
