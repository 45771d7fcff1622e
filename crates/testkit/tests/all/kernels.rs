//! Other kernels mount what `lith info` says that they mount, see in it what its source holds, and refuse the rest.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

use std::{
    collections::BTreeMap,
    fs,
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use lith::{
    builder::{Options, Preset},
    codec::Compressor,
    format::kernel::{KernelVersion, Target},
    reader::{self, Image, Place},
    source::Source,
    tree::{InodeIndex, Metadata, Name},
    verity::{Protection, TreePlace, protect},
};
use lith_report::{Facts, Summary, census};
use lith_testkit::{
    golden, guest, image, matrix,
    noise::{self, Texture},
    oracle::emulated::{self, Images, Machine, Shown},
    place, recipe,
};

/// Bytes of the images that one machine has.
const BATCH: u64 = 600 << 20;

/// An image, and what is claimed of it.
struct Claim {
    /// The primary device first.
    devices: Vec<PathBuf>,
    oldest: KernelVersion,
    options: Vec<&'static str>,
    /// The digest of what it holds.
    digest: String,
    /// Bytes of a block.
    block: u32,
}

impl Claim {
    fn new(devices: Vec<PathBuf>, digest: String) -> Self {
        let opened = image::devices(&devices[0], &devices[1..]);
        let opened = Image::open_with(opened, reader::Options::default()).unwrap();
        let contents = census(&opened).unwrap();
        let kernel = Facts::new(Summary::new(&opened), Some(contents)).summary.kernel;
        Self {
            block: opened.superblock().block.size(),
            devices,
            oldest: kernel.oldest.parse().unwrap(),
            options: kernel.configuration,
            digest,
        }
    }

    /// What a machine should see.
    fn expected(&self, machine: &Machine) -> &str {
        let is_mounted =
            self.oldest <= machine.version && self.options.iter().all(|option| machine.has(option));
        if is_mounted { &self.digest } else { guest::REFUSED }
    }

    /// Whether a kernel is known to do otherwise than its version says.
    fn is_known(&self, name: &str, machine: &Machine, verdict: &str) -> bool {
        // Updates of 6.1 mount what has blocks smaller than a page, without reading what is compressed in them.
        let is_backported = self.block < 4096 && machine.version == KernelVersion::new(6, 1);
        // Linux commit "erofs: separate plain and compressed filesystems formally" ended what 5.4 began.
        let is_ended = name.contains("unpadded") && machine.version >= KernelVersion::new(7, 0);
        let is_unreadable = verdict == guest::UNREADABLE;
        is_backported && (is_unreadable || verdict == self.digest) || is_ended && is_unreadable
    }

    fn bytes(&self) -> u64 {
        self.devices.iter().map(|device| fs::metadata(device).unwrap().len()).sum()
    }
}

type Claims = BTreeMap<String, Claim>;

/// A tree with a bit of everything, and with files that are compressed in many pclusters.
fn source() -> Source {
    let seeds = noise::bytes(Texture::Noise, 3, 6000);
    let (mut tree, mut contents) = recipe::from_bytes(&seeds).as_linux_allows().follow();
    for (texture, length) in [(Texture::Text, 700_000), (Texture::Mixed, 300_000)] {
        let name = Name::new(format!("{texture:?}-{length}").as_bytes()).unwrap();
        let bytes = noise::bytes(texture, 1, length);
        let place = (InodeIndex::ROOT, name);
        contents.add(&mut tree, place, Metadata::default(), bytes).unwrap();
    }
    Source { tree, contents: Box::new(contents), notes: Vec::new() }
}

/// The same tree but for one file.
fn changed() -> Source {
    let mut source = source();
    source.tree.remove(InodeIndex::ROOT, b"Mixed-300000").unwrap();
    source
}

/// An image of each kind and preset, patches, and the golden images of other writers.
fn claims(folder: &Path) -> Claims {
    let mut claims = Claims::new();
    let source = source();
    let digest = guest::digest(source.filesystem());
    for (number, (name, options)) in kinds().into_iter().enumerate() {
        let path = folder.join(number.to_string());
        image::workers(2).build_at(&path, source.filesystem(), &options);
        claims.insert(word(&name), Claim::new(vec![path], digest.clone()));
    }
    for (name, options) in [("none", image::plain()), ("lz4", lz4())] {
        let base = folder.join(format!("base-{name}"));
        let patch = folder.join(format!("patch-{name}"));
        image::workers(2).build_at(&base, source.filesystem(), &options);
        let digest = guest::digest(changed().filesystem());
        image::workers(2).builder(changed(), &options).base(&base).build_to(&patch).unwrap();
        claims.insert(format!("patch-{name}"), Claim::new(vec![patch, base], digest));
    }
    for (name, options) in oldest() {
        let [base, patch, joined] =
            ["base", "patch", "joined"].map(|part| folder.join(format!("flat-{part}-{name}")));
        image::workers(2).build_at(&base, source.filesystem(), &options);
        let digest = guest::digest(changed().filesystem());
        let builder = image::workers(2).builder(changed(), &options).base(&base);
        builder.flat(true).build_to(&patch).unwrap();
        let all = [patch, base].map(|part| fs::read(part).unwrap());
        fs::write(&joined, all.concat()).unwrap();
        claims.insert(format!("flat-{name}"), Claim::new(vec![joined], digest));
    }
    for golden in golden::all() {
        let digest = guest::digest(golden.open().filesystem());
        claims.insert(golden.name.clone(), Claim::new(golden.files(), digest));
    }
    claims
}

fn lz4() -> Options {
    image::compressed(Compressor::Lz4, 16 << 10)
}

/// Options for images that all kernels mount.
fn oldest() -> [(&'static str, Options); 2] {
    [("plain", image::plain()), ("lz4", image::compressed(Compressor::Lz4, 4 << 10))]
        .map(|(name, options)| (name, options.with(|o| o.kernel = "5.4".parse().unwrap())))
}

fn kinds() -> Vec<(String, Options)> {
    let mut kinds = matrix::all(12);
    for target in Target::ALL.iter().filter(|target| target.name.starts_with("debian")) {
        for preset in Preset::ALL {
            kinds.push((format!("{} for {target}", preset.name()), preset.options_for(target)));
        }
    }
    kinds
}

/// A name without what would need quoting.
fn word(name: &str) -> String {
    name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_")
}

/// Names of claims, for one machine each.
fn batches(claims: &Claims) -> Vec<Images> {
    let mut batches = vec![Images::new()];
    let mut bytes = 0;
    for (name, claim) in claims {
        bytes += claim.bytes();
        if bytes > BATCH {
            batches.push(Images::new());
            bytes = claim.bytes();
        }
        let shown = Shown { devices: claim.devices.clone(), hash_tree: None };
        batches.last_mut().unwrap().insert(name.clone(), shown);
    }
    batches
}

#[test]
fn each_kernel_mounts_exactly_what_info_says() {
    let machines = emulated::all();
    if machines.is_empty() {
        return;
    }
    let child = Path::new(env!("CARGO_BIN_EXE_lith-test-child"));
    let folder = place::folder();
    let claims = claims(folder.path());
    let mut wrong = Vec::new();
    for machine in &machines {
        let mut mounted = 0;
        for (name, verdict) in batches(&claims).iter().flat_map(|batch| machine.see(child, batch)) {
            let claim = &claims[&name];
            let expected = claim.expected(machine);
            mounted += usize::from(expected != guest::REFUSED);
            if verdict != expected && !claim.is_known(&name, machine, &verdict) {
                wrong.push(format!(
                    "Linux {}: {name}, from {} on with {:?}: {verdict}, not {expected}",
                    machine.version, claim.oldest, claim.options
                ));
            }
        }
        eprintln!("Linux {}: {mounted} of {} images", machine.version, claims.len());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// An image with its hash tree, and copies of both that are changed, each with what a machine should see of it through dm-verity.
fn protected(folder: &Path) -> BTreeMap<String, (Shown, String)> {
    let (source, mut all) = (source(), BTreeMap::new());
    let digest = guest::digest(source.filesystem());
    for (kind, options) in oldest() {
        let path = folder.join(kind);
        image::workers(2).build_at(&path, source.filesystem(), &options);
        let protection = Protection {
            place: TreePlace::Append,
            block: Protection::BLOCK,
            salt: None,
            uuid: None,
            root_hash: None,
        };
        let made = protect((&path, 0), &protection, NonZeroUsize::MIN).unwrap();
        let root = made.root.to_string();
        let bytes = fs::read(&path).unwrap();
        let mut add = |name: &str, changed: Option<u64>, root: &str, expected: String| {
            let (name, mut bytes) = (format!("{kind}-{name}"), bytes.clone());
            if let Some(at) = changed {
                bytes[usize::try_from(at).unwrap()] ^= 1;
            }
            let path = folder.join(&name);
            fs::write(&path, bytes).unwrap();
            let hash_tree = Some((root.to_owned(), made.hash_offset));
            all.insert(name, (Shown { devices: vec![path], hash_tree }, expected));
        };
        let opened = image::devices(&path, &[]);
        let opened = Image::open_with(opened, reader::Options::default()).unwrap();
        let file = opened.resolve(b"Text-700000").unwrap();
        let extent = opened.extents(&file).unwrap().next().unwrap().unwrap();
        let Place::Device(data) = extent.place else { panic!("{kind}: {extent:?}") };
        let superblock = format!("{} {}", guest::WITHHELD, guest::SUPERBLOCK);
        let file = format!("{} Text-700000", guest::WITHHELD);
        let first = root.chars().next().unwrap();
        let other = root.replacen(first, if first == '0' { "1" } else { "0" }, 1);
        add("untouched", None, &root, digest.clone());
        add("of another root hash", None, &other, superblock.clone());
        add("changed in its superblock", Some(1024 + 80), &root, superblock.clone());
        add("changed in a file", Some(data.pa.0 + 100), &root, file);
        // The block that follows the tree's superblock is its root.
        add("changed in its hash tree", Some(made.hash_offset + 4096), &root, superblock);
    }
    all
}

#[test]
fn other_kernels_read_through_dm_verity_and_withhold_what_is_changed() {
    let machines: Vec<_> = emulated::all().into_iter().filter(Machine::has_verity).collect();
    if machines.is_empty() {
        return;
    }
    let child = Path::new(env!("CARGO_BIN_EXE_lith-test-child"));
    let folder = place::folder();
    let protected = protected(folder.path());
    let shown = |(name, (shown, _)): (&String, &(Shown, String))| (word(name), shown.clone());
    let images: Images = protected.iter().map(shown).collect();
    for machine in &machines {
        let found = machine.see(child, &images);
        for (name, (_, expected)) in &protected {
            let verdict = &found[&word(name)];
            assert_eq!(verdict, expected, "Linux {}: {name}", machine.version);
        }
        eprintln!("Linux {}: {} images through dm-verity", machine.version, found.len());
    }
}
