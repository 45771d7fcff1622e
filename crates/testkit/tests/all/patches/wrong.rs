//! Bases that are missing, changed or say what is wrong are refused.

use super::*;

#[test]
fn wrong_bases_are_refused() {
    let versions = patch();
    let (base, image) = (versions.image(0), versions.image(1));
    let beside = Search::default();
    assert_eq!(find(&image, &beside).unwrap().len(), 1);
    let elsewhere = versions.folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let moved = elsewhere.join("0.erofs");
    fs::rename(&base, &moved).unwrap();
    assert!(matches!(find(&image, &beside), Err(BaseError::Missing { .. })));
    let folder = Search { directories: vec![elsewhere], ..Search::default() };
    assert_eq!(find(&image, &folder).unwrap(), std::slice::from_ref(&moved));
    let given = |path: &Path| Search { devices: vec![path.to_owned()], ..Search::default() };
    assert_eq!(find(&image, &given(&moved)).unwrap(), std::slice::from_ref(&moved));
    let whole = fs::read(&moved).unwrap();
    fs::write(&base, &whole[..whole.len() - 4096]).unwrap();
    assert!(matches!(find(&image, &beside), Err(BaseError::Length { .. })));
    fs::write(&base, [&whole[..], &[0]].concat()).unwrap();
    assert!(matches!(find(&image, &beside), Err(BaseError::Length { .. })));
    fs::remove_file(&base).unwrap();
    fs::hard_link(&image, &base).unwrap();
    assert!(matches!(find(&image, &beside), Err(BaseError::Cycle { .. })));
    assert!(matches!(find(&image, &given(&image)), Err(BaseError::Cycle { .. })));
    fs::remove_file(&base).unwrap();
    versions.build(0, &image::compressed(LZ4, 4 << 10), None);
    assert!(matches!(find(&image, &beside), Err(BaseError::Other { .. })));
    fs::write(&base, &whole).unwrap();
    let file = fs::File::options().write(true).open(&base).unwrap();
    file.write_all_at(b"x", 3000).unwrap();
    assert!(matches!(find(&image, &beside), Err(BaseError::Changed { .. })));
    // Far from the beginning only a comparison of all bytes shows it, which a build makes.
    fs::write(&base, &whole).unwrap();
    file.write_all_at(b"x", whole.len() as u64 / 2).unwrap();
    assert_eq!(find(&image, &beside).unwrap().len(), 1);
    let options = packed(LZ4, 16 << 10);
    let builder = image::builder(image::directory(&versions.tree()), &options);
    let failed = builder.base(&image).build_to(versions.image(2));
    assert!(matches!(failed, Err(Error::Base(BaseError::Changed { .. }))), "{failed:?}");
}

#[test]
fn a_build_refuses_bases_that_can_not_be() {
    let versions = patch();
    let builder = |options: &Options| {
        image::builder(image::directory(&versions.tree()), options).base(versions.image(0))
    };
    let blocks = image::with_blocks(packed(LZ4, 4 << 10), 9);
    let failed = builder(&blocks).build_to(versions.image(2));
    assert!(matches!(failed, Err(Error::Base(BaseError::BlockSize { .. }))), "{failed:?}");
    let old = Options::uncompressed().with(|o| o.kernel = "5.10".parse().unwrap());
    assert!(matches!(builder(&old).build_to(versions.image(2)), Err(Error::Build(_))));
    let before = fs::read(versions.image(0)).unwrap();
    let failed = builder(&packed(LZ4, 16 << 10)).build_to(versions.image(0));
    assert!(matches!(failed, Err(Error::Target { .. })), "{failed:?}");
    assert_eq!(fs::read(versions.image(0)).unwrap(), before);
    assert!(!versions.image(2).exists());
}

#[test]
fn a_damaged_head_of_a_patch_is_an_error() {
    let versions = patch();
    let image = versions.image(1);
    let file = fs::File::options().write(true).open(&image).unwrap();
    let whole = fs::read(&image).unwrap();
    // Superblock, device table and note, each byte.
    for at in 1024..1024 + 1024 {
        for change in [1, 0x80, 0xff] {
            file.write_all_at(&[whole[at] ^ change], at as u64).unwrap();
            let found = find(&image, &Search::default());
            if let Ok(found) = found {
                let devices = image::devices(&image, &found);
                let options = lith::reader::Options::default();
                let _no_panic = lith::reader::Image::open_with(devices, options);
            }
        }
        file.write_all_at(&whole[at..=at], at as u64).unwrap();
    }
}

#[test]
fn device_tables_that_lie_are_errors_and_no_panic() {
    let versions = Versions::new(None);
    let options = packed(LZ4, 16 << 10).with(|o| o.identity.checksum = false);
    versions.build(0, &options, None);
    versions.change(1);
    versions.build(1, &options, Some(0));
    let (image, base) = (versions.image(1), versions.image(0));
    let bytes = fs::read(&image).unwrap();
    let superblock = lith::format::superblock::Superblock::parse(&bytes[1024..]).unwrap();
    let table = usize::try_from(superblock.device_table_position()).unwrap();
    let blocks = u32::try_from(fs::metadata(&base).unwrap().len() / 4096).unwrap();
    let mut random = Noise::new(7);
    // Bytes 64 to 71 of a slot are its blocks and its first block in the unified address space.
    let mut lies: Vec<[u32; 2]> = vec![
        [0, 0],
        [u32::MAX, u32::MAX],
        [u32::MAX, 0],
        [0, u32::MAX],
        [blocks, 0],
        [blocks, 1],
        [1, u32::try_from(superblock.blocks).unwrap()],
    ];
    lies.extend((0..40).map(|_| [0; 2].map(|_| u32::try_from(random.below(1 << 31)).unwrap())));
    for lie in lies {
        let mut changed = bytes.clone();
        let slot = lie.iter().flat_map(|number| number.to_le_bytes());
        changed.splice(table + 64..table + 72, slot);
        fs::write(&image, &changed).unwrap();
        let devices = || image::devices(&image, std::slice::from_ref(&base));
        let options = lith::reader::Options::default();
        let Ok(opened) = lith::reader::Image::open_with(devices(), options) else { continue };
        let mut wrong = 0;
        for file in opened.files() {
            let Ok(file) = file else { continue };
            let Ok(content) = opened.file(&file.inode) else { continue };
            let mut buf = vec![0; usize::try_from(content.size().min(2 << 20)).unwrap()];
            wrong += u32::from(content.read_at(&mut buf, 0).is_err());
        }
        let report = check::check_devices(devices(), &check::Options::default(), &());
        let is_found = report.as_ref().is_ok_and(|report| !report.findings.is_empty());
        assert!(wrong > 0 || is_found || report.is_err(), "{lie:?}");
    }
}

#[test]
fn bases_that_refer_to_each_other_end() {
    let versions = patch();
    let (image, base) = (versions.image(1), versions.image(0));
    let options = packed(LZ4, 16 << 10);
    // A patch under the name of its own base, and the other way around: none is what the other names.
    let other = versions.image(2);
    versions.build(2, &options, Some(1));
    fs::copy(&other, &base).unwrap();
    assert!(matches!(find(&image, &Search::default()), Err(BaseError::Other { .. })));
    assert!(matches!(find(&other, &Search::default()), Err(BaseError::Other { .. })));
    let builder = image::builder(image::directory(&versions.tree()), &options);
    let failed = builder.base(&other).build_to(versions.image(3));
    assert!(matches!(failed, Err(Error::Base(BaseError::Other { .. }))), "{failed:?}");
}
