//! Defines [`Watch`], which gets all requests to a mount.

use std::{fmt::Debug, ops::Range};

use lith_format::addr::Nid;

/// Is told what the kernel requests, by all threads of a server.
pub trait Watch: Debug + Send + Sync {
    /// An inode was looked up.
    fn looked_up(&self, nid: Nid);
    /// A directory was listed.
    fn listed(&self, nid: Nid);
    /// Bytes of a file were requested; the kernel may read ahead.
    fn read(&self, nid: Nid, range: Range<u64>);
}
