//! Flat patches: their bases follow them on their device.

use super::*;

#[test]
fn patches_that_their_bases_follow_need_no_device_table() {
    for (name, options) in kinds() {
        let versions = Versions::new(None);
        let full = versions.build(0, &options, None);
        versions.change(1);
        versions.build(1, &options, Some(0));
        versions.change(2);
        let source = || image::directory(&versions.tree());
        let builder = || image::workers(2).builder(source(), &options);
        // A whole image, and a patch as the base.
        for (base, parts) in [(0, vec![0]), (1, vec![1, 0])] {
            let flat = versions.image(3);
            let built = builder().base(versions.image(base)).flat(true).build_to(&flat).unwrap();
            let expected: Vec<_> = parts.iter().map(|part| versions.image(*part)).collect();
            assert_eq!(built.base_paths, expected, "{name}");
            let size = fs::metadata(&flat).unwrap().len();
            assert_eq!(size, built.report.image_bytes, "{name}");
            assert!(size < full, "{name}: {size} of {full}");
            // The half of an image is none.
            let half =
                check::check_devices(image::devices(&flat, &[]), &check::Options::default(), &());
            assert!(half.is_err() || !half.unwrap().findings.is_empty(), "{name}");
            let all = [&flat].into_iter().chain(&expected);
            let all: Vec<u8> = all.flat_map(|part| fs::read(part).unwrap()).collect();
            fs::write(versions.image(4), &all).unwrap();
            let what = format!("{name}, behind {parts:?}");
            versions.assert_is(&source(), 4, &what);
            assert_names(&versions.image(4), size, &expected);
            let superblock = lith::format::superblock::Superblock::parse(&all[1024..]).unwrap();
            assert_eq!(superblock.extra_devices, 0, "{name}");
            assert_eq!(
                superblock.blocks,
                (all.len() as u64).div_ceil(superblock.block.size().into()),
                "{name}"
            );
        }
    }
}

/// Checks that an image says which files follow its first `start` bytes, and that others are noticed.
fn assert_names(joined: &Path, start: u64, parts: &[PathBuf]) {
    let opened = lith::Image::open_path(joined).unwrap();
    let found = opened.joined().unwrap().unwrap();
    let ranges = found.ranges(opened.superblock().block).unwrap();
    let mut next = start;
    for ((range, base), part) in ranges.iter().zip(&found.bases).zip(parts) {
        let bytes = fs::read(part).unwrap();
        assert_eq!(*range, next..next + bytes.len() as u64);
        assert_eq!((base.bytes, &base.uuid[..]), (bytes.len() as u64, &bytes[1072..1088]));
        assert_eq!(base.name, part.file_name().unwrap().as_encoded_bytes());
        next = range.end;
    }
    assert_eq!((ranges.len(), next), (parts.len(), fs::metadata(joined).unwrap().len()));
    let device = FileDevice::open(joined).unwrap();
    bases::check_joined(&opened, &device, joined).unwrap();
    let file = fs::File::options().read(true).write(true).open(joined).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, next - 1).unwrap();
    file.write_all_at(&[!byte[0]], next - 1).unwrap();
    let changed = bases::check_joined(&opened, &device, joined);
    assert!(matches!(changed, Err(BaseError::Followed { .. })), "{changed:?}");
    file.write_all_at(&byte, next - 1).unwrap();
}

#[test]
fn what_can_not_be_flat_is_refused() {
    let versions = patch();
    let options = packed(LZ4, 16 << 10);
    let builder = || image::builder(image::directory(&versions.tree()), &options).flat(true);
    let refused = [
        builder(),
        builder().base(versions.image(0)).offset(4096),
        builder().base(versions.image(0)).blob(versions.image(4)),
    ];
    for builder in refused {
        let failed = builder.build_to(versions.image(3));
        assert!(matches!(failed, Err(Error::Build(_))), "{failed:?}");
        assert!(!versions.image(3).exists() && !versions.image(4).exists());
    }
}
