//! Runs the stages one by one on values written by hand.

use std::{borrow::Cow, fs::File, num::NonZeroUsize, ops::Range, path::Path};

use lith_codec::Compressor;
use lith_format::{
    addr::{Blkaddr, BlockBits},
    compression::{Algorithm, Lz4Config},
    kernel::KernelVersion,
};
use lith_tree::{
    Content, ContentError, ExtraDevice, Filesystem, InodeIndex, Kind, MemoryContents,
    Metadata as Attributes, Name, Tree,
};

use crate::{
    Compression, Context, DataImport, Digest, Fragments, IndexForm, Input, Known, KnownContents,
    KnownDevice, KnownExtent, KnownFile, KnownParts, KnownPcluster, KnownStorage, KnownStretch,
    Options, Order, Output,
    pack::pack,
    place::{Ends, SizedInodes, place},
    plan::{Geometry, Plan, plan},
    scan::{Analysis, Unread, scan},
    store::{Destination, FileData, StoredFiles, store, store_hot},
};

/// A tree of regular files, and their bytes.
struct Files {
    tree: Tree,
    contents: MemoryContents,
    inodes: Vec<InodeIndex>,
}

fn files(contents_of: &[Vec<u8>]) -> Files {
    let mut tree = Tree::new(Attributes::default());
    let mut contents = MemoryContents::default();
    let mut add = |(number, bytes): (usize, &Vec<u8>)| {
        let name = Name::new(format!("{number:03}").as_bytes()).unwrap();
        let place = (InodeIndex::ROOT, name);
        contents.add(&mut tree, place, Attributes::default(), bytes.clone()).unwrap()
    };
    let inodes = contents_of.iter().enumerate().map(&mut add).collect();
    Files { tree, contents, inodes }
}

impl Files {
    fn input(&self) -> Input<'_> {
        Input::new(Filesystem { tree: &self.tree, contents: &self.contents })
    }
}

/// Bytes that compress, and differ by seed.
fn text(seed: u8, len: usize) -> Vec<u8> {
    let words = (0..).map(|number: u32| format!("{seed} {} ", number.wrapping_mul(0x9e37) % 977));
    words.flat_map(String::into_bytes).take(len).collect()
}

fn compressed(fragments: Fragments) -> Options {
    let compressor = Compressor::Lz4;
    Options::uncompressed().with(|options| {
        let files = Compression { compressor, pcluster: Some(4096), min_saving: 0 };
        options.compression.files = Some(files);
        options.compression.fragments = fragments;
    })
}

fn context() -> Context<'static> {
    Context::new(Path::new("/tmp"))
}

fn scanned<'a>(input: Input<'a>, plan: &'a Plan<'a>) -> Analysis<'a> {
    scan(Geometry { input, plan }, &plan.files, &context()).unwrap()
}

fn stored(geometry: Geometry<'_>, analysis: &Analysis<'_>, image: &File) -> StoredFiles {
    let context = context();
    let destination = Destination { image: Output::from(image), context: &context };
    let empty = StoredFiles::new(geometry.plan, 1, &context);
    store(geometry, analysis, destination, empty).unwrap()
}

#[test]
fn a_plan_puts_the_files_of_an_order_first() {
    let files = files(&[text(1, 10), text(2, 10), Vec::new(), text(3, 10)]);
    let [a, b, empty, c] = files.inodes[..] else { unreachable!() };
    let options = Options::uncompressed();
    let mut order = Order::new();
    order.first = vec![c, InodeIndex::ROOT, empty, b, c];
    let plan = plan(files.input().with_order(&order), &options, &context()).unwrap();
    assert_eq!(plan.files, [c, b, a]);
    assert_eq!(plan.order, [InodeIndex::ROOT, a, b, empty, c]);
}

#[test]
fn a_plan_refuses_targets_that_no_kernel_reads() {
    let mut files = files(&[]);
    let options = Options::uncompressed();
    let mut link = |name: &[u8], length: usize| {
        let (name, target) = (Name::new(name).unwrap(), vec![b'x'; length]);
        let kind = Kind::Symlink(target.into());
        files.tree.add(InodeIndex::ROOT, name, Attributes::default(), kind).unwrap();
        plan(files.input(), &options, &context()).err().map(|error| error.to_string())
    };
    assert_eq!(link(b"longest", 4095), None);
    let refused = link(b"longer", 4096);
    assert_eq!(refused.as_deref(), Some("longer: its target has 4096 bytes, more than 4095"));
}

#[test]
fn scanning_finds_duplicates_fragments_and_repeats() {
    let large = text(1, 60_000);
    let again = [text(2, 30_000), large.clone()].concat();
    let files = files(&[large.clone(), text(3, 100), large, again]);
    let [first, small, duplicate, repeating] = files.inodes[..] else { unreachable!() };
    let mut options = compressed(Fragments::Tails);
    options.compression.dedupe = true;
    let plan = plan(files.input(), &options, &context()).unwrap();
    let analysis = scanned(files.input(), &plan);
    assert_eq!(analysis.files, [first, small, repeating]);
    assert_eq!(analysis.duplicates.get(&duplicate), Some(&first));
    let fragments: Vec<_> = analysis.fragments.iter().map(|f| (f.inode, f.len)).collect();
    assert_eq!(fragments, [(small, 100)]);
    assert!(analysis.repeats.has(first) && analysis.repeats.has(repeating));
    assert_eq!(analysis.in_blocks(), [first, repeating]);
}

#[test]
fn what_is_not_imported_is_not_read() {
    let files = files(&[text(1, 5000)]);
    for (data, expected) in
        [(DataImport::Reserved, Unread::Reserved), (DataImport::Zeros, Unread::Hole)]
    {
        let options = Options::uncompressed().with(|options| options.data = data);
        let plan = plan(files.input(), &options, &context()).unwrap();
        let analysis = scanned(files.input(), &plan);
        assert_eq!(analysis.unread, [(files.inodes[0], expected)]);
        assert!(analysis.files.is_empty());
    }
}

/// The files of another tree, as known content.
struct KnownFiles<'a>(Input<'a>, &'a [InodeIndex]);

impl KnownContents for KnownFiles<'_> {
    fn open(&self, number: u32) -> Result<Box<dyn Content + '_>, ContentError> {
        self.0.open(self.1[number as usize])
    }
}

fn known_pcluster(llen: u32, address: u64) -> KnownPcluster {
    let (algorithm, address) = (Some(Algorithm::Lz4), Blkaddr(address));
    KnownPcluster { llen, blocks: 1, algorithm, partial: false, address }
}

fn known_lz4(contents: &dyn KnownContents) -> Known<'_> {
    let device = ExtraDevice { bytes: 1 << 20, tag: Vec::new() };
    let mut known = Known { contents, ..Known::new() };
    known.devices = vec![KnownDevice { device, uniaddr: Some(Blkaddr(1 << 20)) }];
    known.configs.lz4 = Some(Lz4Config { max_distance: 65535, max_pcluster_blocks: 2 });
    known
}

#[test]
fn known_content_is_found_by_its_bytes_and_referred_to() {
    let (bytes, other) = (text(1, 9000), text(2, 9000));
    let files = files(&[other.clone(), bytes.clone(), bytes.clone()]);
    let base = self::files(std::slice::from_ref(&bytes));
    let contents = KnownFiles(base.input(), &base.inodes);
    let extents = vec![known_pcluster(9000, 1 << 20)];
    let pclusters = KnownStorage::Pclusters { extents, tail: None };
    let blocks =
        KnownStorage::Blocks(vec![KnownStretch { len: 9000, place: Some((1, Blkaddr(7))) }]);
    let flat = KnownStorage::Flat { start: Blkaddr(1 << 20), tail: 9000 % 4096 };
    for stored_as in [pclusters, blocks, flat] {
        let digest = Digest::of_content(&bytes);
        // A digest alone is not trusted: the first file has the same size, and here a forged digest.
        let forged = Digest::of_content(&other);
        let known =
            |digest| KnownFile { size: 9000, digest, content: 0, stored: stored_as.clone() };
        let mut base = known_lz4(&contents);
        base.files = vec![known(forged), known(digest)];
        let input = files.input().with_known(&base);
        let options = Options::uncompressed();
        let plan = plan(input, &options, &context()).unwrap();
        let analysis = scanned(input, &plan);
        let unread = Unread::Known(Cow::Borrowed(&base.files[1].stored), Some(Box::new(digest)));
        let found = files.inodes[1..].iter().map(|inode| (*inode, unread.clone()));
        assert_eq!(analysis.unread, found.collect::<Vec<_>>());
        assert_eq!(analysis.files, files.inodes[..1]);
        let image = tempfile::tempfile().unwrap();
        let stored = stored(Geometry { input, plan: &plan }, &analysis, &image);
        for inode in &files.inodes[1..] {
            let expected = matches!(
                (stored.get(*inode).data, &stored_as),
                (
                    FileData::Compressed { blocks: 1, index: IndexForm::Compact, .. },
                    KnownStorage::Pclusters { .. }
                ) | (FileData::Chunked { .. }, KnownStorage::Blocks(_))
                    | (FileData::Flat { start: 0x10_0000 }, KnownStorage::Flat { .. })
            );
            assert!(expected, "{:?}", stored.get(*inode).data);
            assert_eq!(stored.table.digest(*inode), digest);
        }
        // Only the other file has blocks in the image: two whole ones, and a tail.
        assert_eq!(
            (stored.get(files.inodes[0]).data, stored.next),
            (FileData::Flat { start: 1 }, 3)
        );
    }
}

#[test]
fn files_of_layers_are_read_only_to_be_copied() {
    let files = files(&[text(1, 9000), text(2, 9000)]);
    let contents = KnownFiles(files.input(), &files.inodes);
    let stored = KnownStorage::Pclusters { extents: vec![known_pcluster(9000, 7)], tail: None };
    let whole = files.input().open(files.inodes[0]).unwrap();
    for copied in [None, Some(&*whole)] {
        let mut layers = known_lz4(&contents);
        layers.copied = copied;
        layers.own.insert(files.inodes[0], KnownParts::Whole(stored.clone()));
        let input = files.input().with_known(&layers);
        let options = Options::uncompressed();
        let plan = plan(input, &options, &context()).unwrap();
        let analysis = scanned(input, &plan);
        let digest = copied.map(|_| Box::new(Digest::of_content(&text(1, 9000))));
        let unread = Unread::Known(Cow::Borrowed(&stored), digest);
        assert_eq!(analysis.unread, [(files.inodes[0], unread)]);
        assert_eq!(analysis.files, files.inodes[1..]);
    }
}

/// Content that, unlike [`text`], repeats nothing.
fn numbers() -> Vec<u8> {
    let numbers = (0..).map(|number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44);
    numbers.flat_map(|number| number.to_string().into_bytes()).take(100_000).collect()
}

#[test]
fn extents_are_found_wherever_they_start() {
    let old = numbers();
    let base = files(std::slice::from_ref(&old));
    let contents = KnownFiles(base.input(), &base.inodes);
    let mut known = known_lz4(&contents);
    let extent = |start: usize, len: usize, address| {
        let pcluster = known_pcluster(u32::try_from(len).unwrap(), address);
        let bytes = &old[start..start + len];
        KnownExtent::new(bytes, (pcluster, BlockBits::DEFAULT), (0, start as u64)).unwrap()
    };
    let blocks = 1 << 20;
    known.extents = vec![
        extent(0, 40_000, blocks),
        extent(40_000, 30_000, blocks + 1),
        extent(70_000, 30_000, blocks + 2),
    ];
    // What was inserted into the second extent moves the third one; the first is there twice.
    let inserted = [&old[..50_000], b"new", &old[50_000..], &text(9, 777), &old[..40_000]].concat();
    let files = files(&[inserted.clone(), text(5, 90_000)]);
    let input = files.input().with_known(&known);
    let options = compressed(Fragments::None);
    let plan = plan(input, &options, &context()).unwrap();
    let analysis = scanned(input, &plan);
    let parts = &analysis.parts[&files.inodes[0]].extents;
    let found: Vec<_> = parts.iter().map(|part| (part.position, part.address.0)).collect();
    assert_eq!(found, [(0, blocks), (70_003, blocks + 2), (100_780, blocks)]);
    assert!(!analysis.parts.contains_key(&files.inodes[1]));
    let image = tempfile::tempfile().unwrap();
    let stored = stored(Geometry { input, plan: &plan }, &analysis, &image);
    let FileData::Compressed { index: IndexForm::Full, .. } = stored.get(files.inodes[0]).data
    else {
        panic!("{:?}", stored.get(files.inodes[0]).data)
    };
    assert_eq!(stored.table.digest(files.inodes[0]), Digest::of_content(&inserted));
}

#[test]
fn extents_that_only_begin_alike_are_not_decoded() {
    let old = numbers();
    // To open any content is an error.
    let mut known = known_lz4(&());
    let pcluster = KnownPcluster { blocks: 8, ..known_pcluster(100_000, 1 << 20) };
    known.extents = vec![KnownExtent::new(&old, (pcluster, BlockBits::DEFAULT), (0, 0)).unwrap()];
    for (same, is_opened) in [(24_999, false), (25_000, true)] {
        let files = files(&[[&old[..same], &text(9, 90_000)].concat()]);
        let input = files.input().with_known(&known);
        let kernel = KernelVersion::new(6, 1);
        let options = compressed(Fragments::None).with(|options| options.kernel = kernel);
        let plan = plan(input, &options, &context()).unwrap();
        let found = scan(Geometry { input, plan: &plan }, &plan.files, &context());
        assert_eq!(found.is_err(), is_opened, "{same}");
    }
}

#[test]
fn the_beginning_of_an_extent_is_found_if_enough_of_it_is_there() {
    let old = numbers();
    let base = files(std::slice::from_ref(&old));
    let contents = KnownFiles(base.input(), &base.inodes);
    let mut known = known_lz4(&contents);
    let pcluster = KnownPcluster { blocks: 8, ..known_pcluster(100_000, 1 << 20) };
    known.extents = vec![KnownExtent::new(&old, (pcluster, BlockBits::DEFAULT), (0, 0)).unwrap()];
    // A quarter of the pcluster are two blocks.
    for (same, new) in [(25_000, 90_000), (24_000, 90_000), (99_999, 1), (60_000, 0)] {
        let now = [&text(8, 7), &old[..same], &text(9, new)].concat();
        let files = files(&[now]);
        let input = files.input().with_known(&known);
        let at = |kernel| {
            let options = compressed(Fragments::None).with(|options| options.kernel = kernel);
            let plan = plan(input, &options, &context()).unwrap();
            let parts = scanned(input, &plan).parts.remove(&files.inodes[0]).unwrap_or_default();
            let found = parts.extents.iter();
            found.map(|part| (part.position, part.extent.llen, part.extent.partial)).collect()
        };
        let found: Vec<_> = at(KernelVersion::new(6, 1));
        // The byte after the same ones may be the same by chance.
        let least = u32::try_from(same).unwrap();
        let is_there = matches!(found[..], [(7, len, true)] if (least..least + 3).contains(&len));
        assert_eq!(is_there, same >= 25_000, "{same}: {found:?}");
        let found: Vec<_> = at(KernelVersion::new(5, 16));
        assert_eq!(found, [], "kernels before 6.1 read whole pclusters");
    }
}

#[test]
fn storing_follows_the_analysis_alone() {
    let files = files(&[text(1, 8192), text(1, 8192)]);
    let [first, second] = files.inodes[..] else { unreachable!() };
    let options = Options::uncompressed();
    let plan = plan(files.input(), &options, &context()).unwrap();
    let geometry = Geometry { input: files.input(), plan: &plan };
    let mut analysis = Analysis::of_unknown(second);
    analysis.unread = vec![(first, Unread::Reserved)];
    let image = tempfile::tempfile().unwrap();
    let stored = stored(geometry, &analysis, &image);
    assert_eq!(stored.get(first).data, FileData::Flat { start: 1 });
    assert_eq!(stored.get(second).data, FileData::Flat { start: 3 });
    assert_eq!((stored.next, image.metadata().unwrap().len()), (5, 5 * 4096));
}

/// An order in which these ranges come first.
fn hot(ranges: Vec<(InodeIndex, Range<u64>)>) -> Order {
    Order { ranges, ..Order::new() }
}

#[test]
fn hot_ranges_are_stored_first_in_their_order() {
    let files = files(&[text(1, 900_000), text(2, 700_000), text(3, 5000)]);
    let [first, second, small] = files.inodes[..] else { unreachable!() };
    let order = hot(vec![(second, 400_000..500_000), (small, 0..1), (first, 0..1), (second, 0..9)]);
    let input = files.input().with_order(&order);
    let options = compressed(Fragments::None);
    let plan = plan(input, &options, &context()).unwrap();
    let geometry = Geometry { input, plan: &plan };
    let image = tempfile::tempfile().unwrap();
    let analysis = scanned(input, &plan);
    let context = context();
    let destination = Destination { image: Output::new(&image, 0), context: &context };
    let none = StoredFiles::new(&plan, 1, &context);
    let (analysis, stored) = store_hot(geometry, analysis, destination, none).unwrap();
    let address = |inode: InodeIndex, position: u64| {
        let mut parts = analysis.parts[&inode].extents.iter();
        parts.find(|part| part.position == position).unwrap().address.0
    };
    let in_order =
        [address(second, 397_312), address(small, 0), address(first, 0), address(second, 0)];
    assert_eq!(in_order[0], 1);
    assert!(in_order.is_sorted() && in_order[3] == stored.next - 1, "{in_order:?}");
    // Nothing else is in their pclusters.
    let end = analysis.parts[&second].extents.last().unwrap().end();
    assert_eq!(end, 503_808);
    assert_eq!(stored.hot, Some(1..stored.next));
    let stored = store(geometry, &analysis, destination, stored).unwrap();
    for (inode, bytes) in [(first, text(1, 900_000)), (second, text(2, 700_000))] {
        assert_eq!(stored.table.digest(inode), Digest::of_content(&bytes));
    }
}

#[test]
fn hot_fragments_come_first_in_the_packed_inode() {
    let files = files(&[text(1, 300), text(2, 200), text(3, 100)]);
    let [_, second, third] = files.inodes[..] else { unreachable!() };
    let order = hot(vec![(third, 5..9), (second, 0..1)]);
    let input = files.input().with_order(&order);
    let options = compressed(Fragments::Tails);
    let plan = plan(input, &options, &context()).unwrap();
    let geometry = Geometry { input, plan: &plan };
    let analysis = scanned(input, &plan);
    let fragments = ((analysis.fragments, analysis.sketches), Vec::new(), None);
    let packed = pack(geometry, &analysis.files, fragments, NonZeroUsize::MIN);
    let (packing, parts) = packed.unwrap().unwrap();
    let position = |inode| parts.files.iter().find(|(of, ..)| *of == inode).unwrap().2;
    assert_eq!((position(third), position(second)), (0, 100));
    assert_eq!(packing.inode(geometry, None).border, Some(300));
}

#[test]
fn fragments_of_equal_bytes_are_packed_once() {
    let files = files(&[text(1, 300), text(2, 200), text(1, 300)]);
    let options = compressed(Fragments::Tails);
    let plan = plan(files.input(), &options, &context()).unwrap();
    let geometry = Geometry { input: files.input(), plan: &plan };
    let analysis = scanned(files.input(), &plan);
    let fragments = ((analysis.fragments, analysis.sketches), Vec::new(), None);
    let packed = pack(geometry, &analysis.files, fragments, NonZeroUsize::MIN);
    let (packing, parts) = packed.unwrap().unwrap();
    let mut positions: Vec<_> = parts.files.iter().map(|(inode, _, at)| (*inode, *at)).collect();
    positions.sort_unstable();
    assert_eq!(positions[0].1, positions[2].1);
    let packed = packing.inode(geometry, None);
    assert!(matches!(packed.inode.kind, Kind::Regular { size: 500 }));
    let mut bytes = vec![0; 500];
    packed.content.read_at(&mut bytes, 0).unwrap();
    for (inode, at) in positions {
        let at = usize::try_from(at).unwrap();
        let expected = if inode == files.inodes[1] { text(2, 200) } else { text(1, 300) };
        assert_eq!(bytes[at..at + expected.len()], expected);
    }
}

#[test]
fn inodes_are_placed_from_the_head_on_and_never_overlap() {
    let files = files(&vec![Vec::new(); 300]);
    let options = Options::uncompressed();
    let plan = plan(files.input(), &options, &context()).unwrap();
    let geometry = Geometry { input: files.input(), plan: &plan };
    let none = StoredFiles::new(&plan, 1, &context());
    let inodes = SizedInodes { geometry, files: &none.table };
    let ends = Ends::new(plan.head.end, None, options.layout.block);
    let placement = place(inodes, &[], &ends).unwrap();
    let mut positions: Vec<_> = plan.order.iter().map(|inode| placement.position(*inode)).collect();
    assert_eq!(positions[0], ends.head);
    positions.sort_unstable();
    assert!(positions.windows(2).all(|pair| pair[0] + 32 <= pair[1]));
    assert!(positions.last().unwrap() + 32 <= placement.end);
}
