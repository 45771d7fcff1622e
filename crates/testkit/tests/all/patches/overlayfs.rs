//! Layers that overlayfs made with renamed directories and files of which only attributes were changed are merged to what it
//! shows.

use std::{fs::File, process::Command};

use lith::{Adjust, Overlay, source};

use super::*;

/// Makes the directories `0` to `3`, each the upper one of an overlay on top of those before, and the archive of what an overlay of
/// all shows.
const SCRIPT: &str = r#"
cd "$1"
modprobe overlay 2>/dev/null || true
mkdir 0 1 2 3 work shown
lower=0
overlay() {
    rm -rf work; mkdir work
    mount -t overlay -o "lowerdir=$lower,upperdir=$1,workdir=work,redirect_dir=on,metacopy=on" overlay shown
    lower=$1:$lower
}
mkdir -p 0/a/b/deep 0/x 0/sub 0/gone 0/again
for file in a/b/one a/b/two a/b/deep/three x/four x/five m1 m2 m3 plain gone/six again/seven again/eight; do
    seq 1 $((2000 + $(echo $file | wc -c) * 900)) | sed "s,^,$file ," > 0/$file
done
ln 0/m3 0/sub/m3
overlay 1 || exit 77
(
    cd shown
    mv a/b c
    mv x y
    chmod 600 m1
    chmod 640 m2
    mv m2 sub/m2
    chown 5:6 c/two
    chown 7:8 m3
    rm -r gone
    mkdir gone
    echo new > gone/new
    mv again sub/again
    touch -d @1000000000.5 y
)
umount shown
overlay 2
(
    cd shown
    mkdir -p a/b d
    echo other > a/b/one
    mv c d/e
    chmod 700 d/e/deep/three
    chmod 755 m1
    mv sub/m2 d/m4
    mv y x
    echo more >> x/four
    rm x/five
    mv sub other
)
umount shown
overlay 3
(
    cd shown
    mv d/e/deep deep
    chown 9:9 deep/three d/m4
    mv other/again/seven seven
    setfattr -n user.a -v b other/again/eight 2>/dev/null || chmod 711 other/again/eight
    mv d a/d
)
umount shown
# More than one layer by its own path, as nothing is on top.
mount -t overlay -o "lowerdir=$lower,redirect_dir=follow,metacopy=on" overlay shown
tar --format=posix --xattrs --numeric-owner -cf shown.tar -C shown .
umount shown
"#;

#[test]
fn what_was_renamed_or_changed_in_attributes_alone_is_found_below() {
    if !rustix::process::geteuid().is_root() {
        return tier::skip("layers of overlayfs", "only root mounts it");
    }
    let folder = place::folder();
    let mut unshared = Command::new("timeout");
    unshared.args(["60", "unshare", "--mount", "--propagation", "private", "sh", "-euc", SCRIPT]);
    let output = unshared.arg("sh").arg(folder.path()).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(77) {
        return tier::skip("layers of overlayfs", message);
    }
    assert!(output.status.success(), "{message}");
    let at = |name: &str| folder.path().join(name);
    let archive = File::open(at("shown.tar")).unwrap();
    let shown = source::archive(archive, &at("shown.tar"), &source::Options::default()).unwrap();
    let options = packed(LZ4, 16 << 10);
    let layers: Vec<_> = (0..4).map(|number| at(&format!("{number}.erofs"))).collect();
    for (number, layer) in layers.iter().enumerate() {
        let _report = image::build_directory(&at(&number.to_string()), layer, &options);
    }
    let merged = |from: usize| {
        let sources = layers.iter().skip(from).map(|path| image::open(path));
        source::merge(sources.collect())
    };
    let strip = || Adjust { overlay: Overlay::Strip, ..Adjust::default() };
    let image = at("merged.erofs");
    for copy in [None, Some(false), Some(true)] {
        let builder = image::workers(2).builder(merged(0).unwrap(), &options).adjust(strip());
        let builder = match copy {
            None => builder,
            Some(false) => layers.iter().fold(builder, lith::Builder::base).layers(),
            Some(true) => layers.iter().fold(builder, lith::Builder::base).copied_layers(),
        };
        let report = builder.build_to(&image).unwrap().report;
        let found = bases::find(&image, 0, &Search::default()).unwrap();
        let devices: Vec<_> = found.into_iter().map(|found| found.path).collect();
        let found = image::open_with(&image, &devices);
        compare::assert_same(shown.filesystem(), found.filesystem(), &format!("{copy:?}"));
        let all: u64 = layers.iter().map(|path| fs::metadata(path).unwrap().len()).sum();
        assert!(copy != Some(false) || report.image_bytes < all / 2, "{report:?}");
    }
    let error = merged(1).err().unwrap().to_string();
    assert!(error.contains("its data is in a layer below that is not there"), "{error}");
}
