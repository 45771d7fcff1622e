//! Layers that are merged, by reference and by copying, hold what overlayfs shows of them.

use super::*;

/// Writes files of a layer, each as `name=seed`, with `name-` for a whiteout and `name>other` for a hard link.
fn plant_layer(folder: &Path, lines: &str) {
    for line in lines.split(' ') {
        let end = line.find(['=', '-', '>']).unwrap();
        let (path, rest) = (folder.join(&line[..end]), &line[end + 1..]);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match &line[end..=end] {
            "=" => {
                let seed: u32 = rest.parse().unwrap();
                let len = 1000 + 60_000 * seed as usize;
                let bytes = noise::bytes(Texture::Mixed, seed.into(), len);
                fs::write(path, bytes).unwrap();
            }
            ">" => fs::hard_link(folder.join(rest), path).unwrap(),
            _ => {
                let mode = rustix::fs::Mode::empty();
                let kind = rustix::fs::FileType::CharacterDevice;
                rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).unwrap();
            }
        }
    }
}

#[test]
fn layers_are_merged_by_reference_and_by_copying() {
    if !rustix::process::geteuid().is_root() {
        return tier::skip("merged layers", "only root makes whiteouts");
    }
    let lines =
        ["a=1 d/b=2 d/c=3 e/x=4 big=40", "d/b=5 d/new=6 e/link>d/new gone-", "a=7 d/c- big=39"];
    let kinds = [
        ("plain", image::plain()),
        ("chunks", chunks::with(image::plain(), 4 << 10)),
        ("lz4, fragments", packed(LZ4, 16 << 10)),
        ("zstd, tail packing", {
            image::with_packing(image::compressed(zstd(), 32 << 10), Fragments::None, true)
        }),
    ];
    for (what, options) in kinds {
        let versions = Versions { folder: place::folder() };
        let mut layers = Vec::new();
        for (number, lines) in lines.into_iter().enumerate() {
            let tree = versions.folder.path().join(format!("tree-{number}"));
            fs::create_dir(&tree).unwrap();
            plant_layer(&tree, lines);
            let path = versions.folder.path().join(format!("layer-{number}.erofs"));
            let _report = image::build_directory(&tree, &path, &options);
            layers.push(path);
        }
        let sources = || layers.iter().map(|path| image::open(path)).collect::<Vec<_>>();
        let merged = || lith::source::merge(sources()).unwrap();
        for copy in [false, true] {
            let builder = image::workers(2).builder(merged(), &options);
            let builder = layers.iter().fold(builder, lith::Builder::base);
            let builder = if copy { builder.copied_layers() } else { builder.layers() };
            let size = builder.build_to(versions.image(1)).unwrap().report.image_bytes;
            let all: u64 = layers.iter().map(|path| fs::metadata(path).unwrap().len()).sum();
            assert!(size < if copy { all } else { all / 8 }, "{what}, {copy}: {size} of {all}");
            versions.assert_is(&merged(), 1, what);
        }
    }
}

/// Two layers, and what they are merged to.
fn merged(digests: bool) -> (Versions, [PathBuf; 2]) {
    let versions = Versions::new(None);
    let options = packed(LZ4, 16 << 10);
    versions.build(0, &options, None);
    versions.change(1);
    versions.build(2, &options, None);
    let layers = [versions.image(0), versions.image(2)];
    let sources = layers.iter().map(|path| image::open(path)).collect();
    let builder = image::workers(2).builder(lith::source::merge(sources).unwrap(), &options);
    let builder = layers.iter().fold(builder, lith::Builder::base);
    let builder = if digests { builder.digested_layers() } else { builder.layers() };
    builder.build_to(versions.image(1)).unwrap();
    (versions, layers)
}

#[test]
fn layers_are_known_by_their_beginning_or_all_their_bytes() {
    for digests in [false, true] {
        let (versions, layers) = merged(digests);
        let image = versions.image(1);
        let search = Search::default();
        assert_eq!(find(&image, &search).unwrap(), layers);
        let found = bases::find(&image, 0, &search).unwrap();
        let has_digest = |found: &bases::Found| found.base.as_ref().unwrap().has_digest();
        assert!(found.iter().all(|found| has_digest(found) == digests));
        let whole = fs::read(&layers[1]).unwrap();
        let file = fs::File::options().write(true).open(&layers[1]).unwrap();
        file.write_all_at(b"x", whole.len() as u64 / 2).unwrap();
        let found = &bases::find(&image, 0, &search).unwrap()[1];
        let checked = bases::check_digest(&found.device, found.base.as_ref().unwrap(), &found.path);
        assert_eq!(matches!(checked, Err(BaseError::Changed { .. })), digests, "{checked:?}");
        file.write_all_at(b"x", 3000).unwrap();
        assert!(matches!(find(&image, &search), Err(BaseError::Changed { .. })));
        fs::write(&layers[1], &whole[..whole.len() - 4096]).unwrap();
        assert!(matches!(find(&image, &search), Err(BaseError::Length { .. })));
        fs::rename(&layers[0], &layers[1]).unwrap();
        let found = find(&image, &search);
        assert!(
            matches!(found, Err(BaseError::Length { .. } | BaseError::Other { .. })),
            "{found:?}"
        );
        fs::remove_file(&layers[1]).unwrap();
        assert!(matches!(find(&image, &search), Err(BaseError::Missing { .. })));
    }
}

#[test]
fn equal_layers_without_digests_are_not_taken_for_one() {
    let versions = Versions::new(None);
    let options = packed(LZ4, 16 << 10);
    versions.build(0, &options, None);
    fs::copy(versions.image(0), versions.image(2)).unwrap();
    let layers = [versions.image(0), versions.image(2), versions.image(0)];
    let sources = layers.iter().map(|path| image::open(path)).collect();
    let builder = image::workers(2).builder(lith::source::merge(sources).unwrap(), &options);
    let built = layers.iter().fold(builder, lith::Builder::base).layers();
    let built = built.build_to(versions.image(1)).unwrap();
    // The same file twice is one device.
    assert_eq!(built.bases, 2);
    versions.assert_holds(1, "a layer and its copy");
}

#[test]
fn layers_of_one_name_are_found_under_others() {
    let versions = Versions::new(None);
    let options = packed(LZ4, 16 << 10);
    let layers = ["a", "b"].map(|folder| versions.folder.path().join(folder).join("layer.erofs"));
    for (layer, version) in layers.iter().zip([0, 2]) {
        fs::create_dir(layer.parent().unwrap()).unwrap();
        versions.build(version, &options, None);
        fs::rename(versions.image(version), layer).unwrap();
        versions.change(1 + version as u64 / 2);
    }
    let sources = layers.iter().map(|path| image::open(path)).collect();
    let merged = lith::source::merge(sources).unwrap();
    let builder =
        layers.iter().fold(image::workers(2).builder(merged, &options), lith::Builder::base);
    builder.layers().build_to(versions.image(1)).unwrap();
    let image = versions.image(1);
    let folders = layers.iter().map(|layer| layer.parent().unwrap().to_owned()).collect();
    let search = Search { directories: folders, ..Search::default() };
    assert_eq!(find(&image, &search).unwrap(), layers);
    assert!(matches!(find(&image, &Search::default()), Err(BaseError::Missing { .. })));
    // Beside the image one of them can't have its name.
    let beside = ["layer.erofs", "layer-2.erofs"].map(|name| versions.folder.path().join(name));
    for (from, to) in layers.iter().zip(&beside) {
        fs::rename(from, to).unwrap();
    }
    assert_eq!(find(&image, &Search::default()).unwrap(), beside);
}
