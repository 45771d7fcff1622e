//! Hostile images do no harm to their reader.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
};

use lith::{
    device::MemoryDevice,
    export::{Existing, ExtractOptions, Selection, extract},
    reader::Image,
    source,
    tree::Filesystem,
};
use lith_testkit::{golden, image, matrix, metabox::Metabox, mutation, place, recipe, tier};

/// The most memory, in KiB, that any damaged image may make its reader take: caches of 24 MiB, some
/// pclusters and extents for each of a few workers, and what this program holds itself.
const MEMORY: u64 = 200 << 10;

/// Images of every layout that there is, none of more than some hundred KiB.
fn images() -> Vec<(String, Vec<u8>)> {
    let mut images = Vec::new();
    for golden in golden::all() {
        let bytes = fs::read(&golden.files()[0]).unwrap();
        images.push((golden.name, bytes));
    }
    let seeds = lith_testkit::noise::bytes(lith_testkit::noise::Texture::Noise, 5, 3000);
    let (tree, contents) = recipe::from_bytes(&seeds).follow();
    for (name, options) in matrix::all(12) {
        images.push((name, image::build(Filesystem::new(&tree, &contents), &options)));
    }
    images
}

/// How often each image is damaged: `LITH_HOSTILE` says it, for a long run.
fn count() -> u64 {
    let asked = std::env::var("LITH_HOSTILE").ok().map(|count| count.parse().unwrap());
    asked.unwrap_or(if tier::is_heavy() { 100 } else { 60 })
}

/// Has another program damage an image in one of two ways, `seeds` being the first one and how many; the numbers that it prints, of
/// which the last one is the peak of its memory.
fn try_damaged(way: &str, (name, image): (&str, &[u8]), seeds: (u64, u64)) -> Vec<u64> {
    let folder = place::folder();
    let (file, place) = (folder.path().join("image"), folder.path().join("place"));
    fs::write(&file, image).unwrap();
    fs::create_dir(&place).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_lith-test-child"))
        .arg(way)
        .arg(&file)
        .args([seeds.0, seeds.1].map(|number| number.to_string()))
        .arg(&place)
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success(), "{name}");
    let printed = String::from_utf8(output.stdout).unwrap();
    let numbers: Vec<u64> =
        printed.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let peak = *numbers.last().unwrap();
    assert!(peak < MEMORY, "{name}: {} MiB of memory", peak >> 10);
    numbers
}

#[test]
fn damaged_images_neither_panic_nor_hang_nor_eat_memory() {
    for ((name, bytes), number) in images().iter().zip(0..) {
        try_damaged("hostile", (name, bytes), (number * 100_000, count()));
    }
}

/// As above, damaged only inside of compressed metaboxes: `LITH_HOSTILE_INSIDE` says how many in all.
#[test]
fn images_damaged_inside_of_metaboxes_neither_panic_nor_hang_nor_eat_memory() {
    let mut images = images();
    images.retain(|(_, bytes)| Metabox::of(bytes).is_some());
    let all = std::env::var("LITH_HOSTILE_INSIDE").map_or(200, |count| count.parse().unwrap());
    let each = u64::div_ceil(all, images.len() as u64);
    let (mut sum, mut peak) = ([0; 3], 0);
    for ((name, bytes), number) in images.iter().zip(0..) {
        let seeds = (number * 100_000, each);
        let numbers = try_damaged("hostile-inside", (name, bytes), seeds);
        let [unreadable, damaged, sound, memory] = *numbers else { panic!("{name}: {numbers:?}") };
        assert_eq!(unreadable + damaged + sound, each, "{name}: too few changes fit");
        peak = memory.max(peak);
        sum.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
    }
    let [unreadable, damaged, sound] = sum;
    eprintln!(
        "{} metaboxes, {} images: {unreadable} can't be read, {damaged} are damaged, {sound} are sound; at most {} MiB",
        images.len(),
        sum.iter().sum::<u64>(),
        peak >> 10
    );
    assert!(unreadable > all / 10 && damaged > all / 100 && sound > 0, "{sum:?}");
}

#[test]
fn the_damage_reaches_metadata() {
    let mut outcomes = [0; 2];
    for (_, bytes) in images() {
        let hot = mutation::hot_ranges(&bytes);
        for seed in 0..20 {
            let mut damaged = bytes.clone();
            damaged[1032] &= !1;
            mutation::mutate(&mut damaged, &hot, seed);
            let opened = Image::open(MemoryDevice::new(damaged));
            outcomes[usize::from(opened.is_ok())] += 1;
        }
    }
    assert!(outcomes[0] > 100 && outcomes[1] > 100, "{outcomes:?}");
}

#[test]
fn the_damage_reaches_what_is_in_compressed_metaboxes() {
    let mut outcomes = [0; 3];
    for (_, bytes) in images() {
        let Some(metabox) = Metabox::of(&bytes) else { continue };
        for seed in 0..40 {
            let Some(damaged) = metabox.mutated(seed) else {
                outcomes[2] += 1;
                continue;
            };
            let opened = Image::open(MemoryDevice::new(damaged));
            let read = opened.map(Arc::new).map_err(|error| error.to_string()).and_then(|image| {
                let source = source::image(image, Path::new("image"), &source::Options::default());
                source.map(drop).map_err(|error| error.to_string())
            });
            outcomes[usize::from(read.is_ok())] += 1;
        }
    }
    // Damaged, not noticed by reading names, and not possible.
    assert!(outcomes[0] > 100 && outcomes[1] > 100, "{outcomes:?}");
    assert!(outcomes[2] < outcomes[0] + outcomes[1], "{outcomes:?}");
}

/// Extracts an image whose names were changed from `name` to `instead`, which is as long; says whether that worked.
fn extract_renamed(changes: &[(&[u8], &[u8])], folder: &Path, existing: Existing) -> bool {
    let tree = folder.join("tree");
    if !tree.exists() {
        fs::create_dir(&tree).unwrap();
        symlink(folder.join("outside"), tree.join("AA")).unwrap();
        fs::create_dir_all(tree.join("BB")).unwrap();
        fs::write(tree.join("BB/victim"), "overwritten").unwrap();
        fs::write(tree.join("CC"), "overwritten").unwrap();
        fs::write(tree.join("DDDDDDDDDDDD"), "overwritten").unwrap();
    }
    let source = image::directory(&tree);
    let mut bytes = image::build(source.filesystem(), &image::plain());
    for (name, instead) in changes {
        assert_eq!(name.len(), instead.len());
        let at: Vec<_> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(name)).collect();
        for at in at {
            bytes[at..at + name.len()].copy_from_slice(instead);
        }
    }
    // The checksum covers the first block, where small trees lie.
    bytes[1032] &= !1;
    let image = Arc::new(Image::open(MemoryDevice::new(bytes)).unwrap());
    let options = source::Options::default();
    let Ok(source) = source::image(image, Path::new("image"), &options) else { return false };
    let options = ExtractOptions::with(|options| options.existing = existing);
    extract(source.filesystem(), &Selection::all(), &folder.join("inside"), &options, &()).is_ok()
}

#[test]
fn nothing_is_written_outside() {
    let attacks: [&[(&[u8], &[u8])]; 6] = [
        // A link and a folder of one name: what goes into the folder must not go through the link.
        &[(b"BB", b"AA")],
        &[(b"CC", b"AA")],
        &[(b"CC", b"..")],
        &[(b"BB", b"..")],
        &[(b"DDDDDDDDDDDD", b"../victimXXX")],
        &[(b"DDDDDDDDDDDD", b"/tmp/victimX")],
    ];
    for (number, attack) in attacks.into_iter().enumerate() {
        for existing in [Existing::Refuse, Existing::Overwrite] {
            let folder = place::folder();
            let outside = folder.path().join("outside");
            fs::create_dir(&outside).unwrap();
            fs::write(outside.join("victim"), "precious").unwrap();
            fs::write(folder.path().join("victim"), "precious").unwrap();
            if existing == Existing::Overwrite {
                // A link is in the way already.
                fs::create_dir(folder.path().join("inside")).unwrap();
                symlink("../outside", folder.path().join("inside/BB")).unwrap();
                symlink("../victim", folder.path().join("inside/CC")).unwrap();
            }
            let _ = extract_renamed(attack, folder.path(), existing);
            for victim in [outside.join("victim"), folder.path().join("victim")] {
                assert_eq!(fs::read_to_string(victim).unwrap(), "precious", "attack {number}");
            }
            assert_eq!(place::names(&outside), ["victim"], "attack {number}");
            let around = place::names(folder.path());
            let known = ["inside", "outside", "tree", "victim"];
            assert!(
                around.iter().all(|name| known.contains(&&**name)),
                "attack {number}: {around:?}"
            );
        }
    }
}

#[test]
fn without_an_attack_all_is_extracted() {
    let folder = place::folder();
    assert!(extract_renamed(&[], folder.path(), Existing::Refuse));
    assert_eq!(fs::read_to_string(folder.path().join("inside/BB/victim")).unwrap(), "overwritten");
    assert_eq!(place::names(&folder.path().join("inside")), ["AA", "BB", "CC", "DDDDDDDDDDDD"]);
}
