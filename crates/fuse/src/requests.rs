//! Answers the kernel's requests.

use std::{cell::RefCell, ffi::OsStr, fs::File, io, os::unix::ffi::OsStrExt, sync::Arc};

use fuser::{
    Errno, FileAttr, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyDirectoryPlus,
    ReplyEmpty, ReplyEntry, ReplyLseek, ReplyOpen, ReplyStatfs, ReplyXattr, Request,
};
use lith_format::addr::Nid;
use lith_reader::{DataRange, Deliver, Error, Image, Inode, ReadAhead};

use crate::{
    attributes::{Attributes, FOREVER},
    backing::Backing,
    directory::{Cookie, Listing},
    errno,
    idle::Activity,
    options::Options,
    presence::Presence,
    push::{Part, Pusher},
    watch::Watch,
    xattrs,
};

/// The handle of files that the kernel reads from a backing file.
const PASSED_THROUGH: FileHandle = FileHandle(1);

/// Bytes in a name.
const NAME_MAX: u32 = 255;

/// A read of at most so many bytes is a random one: the kernel requests more if it reads sequentially.
const SCATTERED: usize = 16 << 10;

/// Shorter extents are decoded again as quickly as pushed, and have few other pages.
const WORTH_PUSHING: usize = 32 << 10;

/// The most requests of the kernel's read-ahead at once.
const BACKGROUND: u16 = 64;

/// Features that are requested from the kernel.
const WANTED: [InitFlags; 6] = [
    InitFlags::FUSE_ASYNC_DIO,
    InitFlags::FUSE_PARALLEL_DIROPS,
    InitFlags::FUSE_POSIX_ACL,
    InitFlags::FUSE_CACHE_SYMLINKS,
    InitFlags::FUSE_NO_OPEN_SUPPORT,
    InitFlags::FUSE_NO_OPENDIR_SUPPORT,
];

/// Likewise, of servers without a watch: a listed directory would look all its entries up.
const UNWATCHED: [InitFlags; 2] =
    [InitFlags::FUSE_DO_READDIRPLUS, InitFlags::FUSE_READDIRPLUS_AUTO];

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Calls `fill` with the thread's own buffer of `length` bytes, with any content.
fn with_buffer<T>(length: usize, fill: impl FnOnce(&mut [u8]) -> T) -> T {
    BUFFER.with_borrow_mut(|buffer| {
        if buffer.len() < length {
            buffer.resize(length, 0);
        }
        fill(buffer.get_mut(..length).expect("resized to `length` bytes or more"))
    })
}

/// Answers requests for the files of an image.
#[derive(Debug)]
pub(crate) struct Server {
    image: Arc<Image>,
    attributes: Attributes,
    pub(crate) activity: Arc<Activity>,
    pub(crate) pusher: Arc<Pusher>,
    pub(crate) ahead: Arc<ReadAhead>,
    xattrs: Arc<Presence>,
    backing: Option<Backing>,
    watch: Option<Arc<dyn Watch>>,
    without_open: bool,
    without_opendir: bool,
}

impl Server {
    pub(crate) fn new(image: Arc<Image>, options: &Options) -> Self {
        let attributes = Attributes::new(&image, options);
        let (activity, pusher) = (Arc::default(), Arc::new(Pusher::new(options.threads())));
        let (numbers, into) = (attributes.numbers, Arc::clone(&pusher));
        let deliver: Deliver = Box::new(move |inode, bytes| {
            let part = Part { position: 0, bytes, file_size: inode.size };
            into.push_aside(numbers.number(inode.nid), part);
        });
        let ahead = Arc::new(ReadAhead::new(Arc::clone(&image), Some(deliver)));
        Self {
            image,
            attributes,
            activity,
            pusher,
            ahead,
            xattrs: Arc::default(),
            // Where blocks can't be shared, files are read by requests.
            backing: options.passthrough.as_ref().and_then(|file| Backing::new(file).ok()),
            watch: None,
            without_open: false,
            without_opendir: false,
        }
    }

    /// The same with a watch, which gets all requests.
    pub(crate) fn watched(self, watch: Arc<dyn Watch>) -> Self {
        Self { watch: Some(watch), ..self }
    }

    fn tell(&self, what: impl FnOnce(&dyn Watch)) {
        if let Some(watch) = &self.watch {
            what(&**watch);
        }
    }

    fn listed(&self, files: &[Nid]) {
        self.ahead.listed(files);
    }

    fn inode(&self, number: INodeNo) -> Result<Inode, Error> {
        self.activity.note();
        self.image.inode(self.attributes.numbers.nid(number))
    }

    fn find(&self, parent: INodeNo, name: &[u8]) -> Result<FileAttr, Error> {
        let directory = self.inode(parent)?;
        Ok(match self.image.lookup(&directory, name)? {
            Some(entry) => {
                self.tell(|watch| watch.looked_up(entry.nid));
                self.attributes.of(&self.image.inode(entry.nid)?)
            }
            None => self.attributes.none(),
        })
    }

    fn listing(&self, number: INodeNo, cookie: u64) -> Listing<'_> {
        self.activity.note();
        let nid = self.attributes.numbers.nid(number);
        self.tell(|watch| watch.listed(nid));
        Listing { image: &self.image, attributes: &self.attributes, nid, from: Cookie(cookie) }
    }

    /// Sends up to `length` bytes from `position` on, fewer at the end of the file.
    fn send(&self, number: INodeNo, inode: &Inode, range: (u64, u32), reply: ReplyData) {
        let (position, length) = range;
        let left = inode.size.saturating_sub(position).min(length.into());
        let left = usize::try_from(left).expect("at most `length`, which is a `u32`");
        self.tell(|watch| watch.read(inode.nid, position..position.saturating_add(left as u64)));
        let _busy = self.ahead.begin_read(inode, position, left as u64);
        let file = match self.image.file(inode) {
            Ok(file) => file,
            Err(error) => return reply.error(errno::of(&error)),
        };
        let read = with_buffer(left, |bytes| {
            let read = file.read_at(bytes, position);
            match &read {
                Ok(()) => reply.data(bytes),
                Err(error) => reply.error(errno::of(error)),
            }
            read.is_ok()
        });
        if read
            && (1..=SCATTERED).contains(&left)
            && let Some(kept) = file.kept_at(position)
            && kept.bytes().len() >= WORTH_PUSHING
        {
            let part = Part { position: kept.la, bytes: kept.bytes(), file_size: inode.size };
            self.pusher.push(number, part);
        }
    }

    /// Opens a file with a backing file if there can be one; the handle is [`PASSED_THROUGH`] then.
    fn open_passed_through(&self, backing: &Backing, number: INodeNo, reply: ReplyOpen) {
        let inode = match self.inode(number) {
            Ok(inode) => inode,
            Err(error) => return reply.error(errno::of(&error)),
        };
        let reply = RefCell::new(Some(reply));
        let register = |file: &File| match &*reply.borrow() {
            Some(reply) => reply.open_backing(file),
            None => Err(io::ErrorKind::NotFound.into()),
        };
        backing.open((&self.image, &inode), number, register, |id| {
            if let Some(reply) = reply.take() {
                reply.opened_passthrough(PASSED_THROUGH, FopenFlags::empty(), id);
            }
        });
        if let Some(reply) = reply.take() {
            reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE);
        }
    }

    /// The first position from `position` on that is (or is not) in a hole. The end of the file counts as a hole.
    fn seek(&self, inode: &Inode, position: u64, hole: bool) -> Result<Option<u64>, Error> {
        let file = self.image.file(inode)?;
        let mut at = position;
        while let Some(range) = file.range_at(at)? {
            let (is_hole, end) = match range {
                DataRange::Data { end } => (false, end),
                DataRange::Hole { end } => (true, end),
            };
            if is_hole == hole {
                return Ok(Some(at));
            }
            at = end;
        }
        Ok((hole && position < inode.size).then_some(inode.size))
    }
}

impl Filesystem for Server {
    fn init(&mut self, _req: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let unwatched = UNWATCHED.into_iter().filter(|_| self.watch.is_none());
        for wanted in WANTED.into_iter().chain(unwatched) {
            // A kernel without a feature sends more requests.
            let _ = config.add_capabilities(wanted);
        }
        let _ = config.set_max_background(BACKGROUND);
        let _ = config.set_congestion_threshold(BACKGROUND);
        let has = config.capabilities();
        let passthrough = self.backing.is_some()
            && config.add_capabilities(InitFlags::FUSE_PASSTHROUGH).is_ok()
            && config.set_max_stack_depth(1).is_ok();
        self.backing = self.backing.take().filter(|_| passthrough);
        self.without_open = has.contains(InitFlags::FUSE_NO_OPEN_SUPPORT);
        self.without_opendir = has.contains(InitFlags::FUSE_NO_OPENDIR_SUPPORT);
        Ok(())
    }

    fn lookup(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if name.len() > NAME_MAX as usize {
            return reply.error(Errno::ENAMETOOLONG);
        }
        match self.find(parent, name.as_bytes()) {
            Ok(attributes) => reply.entry(&FOREVER, &attributes, Generation(0)),
            Err(error) => reply.error(errno::of(&error)),
        }
    }

    fn forget(&self, _req: &Request, _ino: INodeNo, _nlookup: u64) {}

    fn getattr(&self, _req: &Request, ino: INodeNo, _fh: Option<FileHandle>, reply: ReplyAttr) {
        match self.inode(ino) {
            Ok(inode) => reply.attr(&FOREVER, &self.attributes.of(&inode)),
            Err(error) => reply.error(errno::of(&error)),
        }
    }

    fn readlink(&self, _req: &Request, ino: INodeNo, reply: ReplyData) {
        match self.inode(ino).and_then(|inode| self.image.read_link(&inode)) {
            Ok(target) => reply.data(&target),
            Err(error) => reply.error(errno::of(&error)),
        }
    }

    /// Unless files are passed through, ENOSYS makes the kernel open all further files without a request.
    fn open(&self, _req: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        self.activity.note();
        if let Some(backing) = &self.backing {
            return self.open_passed_through(backing, ino, reply);
        }
        if self.without_open {
            return reply.error(Errno::ENOSYS);
        }
        reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE);
    }

    fn read(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.inode(ino) {
            Ok(inode) => self.send(ino, &inode, (offset, size), reply),
            Err(error) => reply.error(errno::of(&error)),
        }
    }

    fn release(
        &self,
        _req: &Request,
        ino: INodeNo,
        fh: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        if let Some(backing) = self.backing.as_ref().filter(|_| fh == PASSED_THROUGH) {
            backing.close(ino);
        }
        reply.ok();
    }

    fn flush(
        &self,
        _req: &Request,
        _ino: INodeNo,
        _fh: FileHandle,
        _lock_owner: LockOwner,
        reply: ReplyEmpty,
    ) {
        reply.error(Errno::ENOSYS);
    }

    fn opendir(&self, _req: &Request, _ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        self.activity.note();
        if self.without_opendir {
            return reply.error(Errno::ENOSYS);
        }
        let keep = FopenFlags::FOPEN_KEEP_CACHE | FopenFlags::FOPEN_CACHE_DIR;
        reply.opened(FileHandle(0), keep);
    }

    fn readdir(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        match self.listing(ino, offset).fill(&mut reply) {
            Ok(files) => {
                reply.ok();
                self.listed(&files);
            }
            Err(error) => reply.error(errno::of(&error)),
        }
    }

    fn readdirplus(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        match self.listing(ino, offset).fill_plus(&mut reply) {
            Ok(files) => {
                reply.ok();
                self.listed(&files);
            }
            Err(error) => reply.error(errno::of(&error)),
        }
    }

    fn statfs(&self, _req: &Request, _ino: INodeNo, reply: ReplyStatfs) {
        self.activity.note();
        let superblock = self.image.superblock();
        let (size, free) = (superblock.block.size(), u64::MAX.saturating_sub(superblock.inos));
        reply.statfs(superblock.blocks, 0, 0, u64::MAX, free, size, NAME_MAX, size);
    }

    fn getxattr(&self, _req: &Request, ino: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        if self.xattrs.are_absent() {
            return reply.error(Errno::ENOSYS);
        }
        let inode = self.inode(ino);
        let value = inode.and_then(|inode| self.image.xattr(&inode, name.as_bytes()));
        if matches!(value, Ok(None)) {
            self.xattrs.missed(&self.image);
        }
        xattrs::reply(value, size, reply);
    }

    fn listxattr(&self, _req: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        let names = self.inode(ino).and_then(|inode| xattrs::names(&self.image, &inode));
        xattrs::reply(names.map(Some), size, reply);
    }

    fn lseek(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: i64,
        whence: i32,
        reply: ReplyLseek,
    ) {
        let (Ok(position), Some(hole)) = (u64::try_from(offset), wants_hole(whence)) else {
            return reply.error(Errno::EINVAL);
        };
        match self.inode(ino).and_then(|inode| self.seek(&inode, position, hole)) {
            Ok(Some(found)) => reply.offset(found.cast_signed()),
            Ok(None) => reply.error(Errno::ENXIO),
            Err(error) => reply.error(errno::of(&error)),
        }
    }
}

/// Whether `lseek` seeks a hole (true) or data (false). `None`: neither.
fn wants_hole(whence: i32) -> Option<bool> {
    const SEEK_DATA: i32 = 3;
    const SEEK_HOLE: i32 = 4;
    match whence {
        SEEK_DATA => Some(false),
        SEEK_HOLE => Some(true),
        _ => None,
    }
}
