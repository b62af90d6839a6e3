//! What both kinds of handles can tell of their channel, written once.

/// Gives a handle, which has `shared`, the questions about its channel.
macro_rules! queries {
    ($handle:ident) => {
        impl<T> $handle<T> {
            /// Closes the channel for all: nothing can be sent any more, also with a permit, and what was sent before
            /// can be received. Returns whether this call closed it; closing twice is harmless.
            pub fn close(&self) -> bool {
                self.shared.close()
            }

            /// Whether sending is over: the channel was closed, or the last handle of one side is gone. Values may be left.
            pub fn is_closed(&self) -> bool {
                self.shared.is_closed()
            }

            /// How many values are in the channel. With `bounded(0)`, how many senders wait.
            pub fn len(&self) -> usize {
                self.shared.len()
            }

            /// Whether no value is in the channel.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// How many values the channel has room for; `None` if it is unbounded.
            pub fn capacity(&self) -> Option<usize> {
                self.shared.capacity()
            }

            /// How many senders there are.
            pub fn sender_count(&self) -> usize {
                self.shared.senders.load($crate::prim::Ordering::Relaxed)
            }

            /// How many receivers there are.
            pub fn receiver_count(&self) -> usize {
                self.shared.receivers.load($crate::prim::Ordering::Relaxed)
            }

            /// Whether both are handles of the same channel.
            pub fn same_channel(&self, other: &Self) -> bool {
                core::ptr::eq(&raw const *self.shared, &raw const *other.shared)
            }
        }
    };
}
pub(super) use queries;
