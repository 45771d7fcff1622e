//! Tests what the command line makes of bases.

use std::fs;

use super::{
    args,
    sample::{Sample, compressible, lith, printed},
};

#[test]
fn a_patch_needs_the_kernel_of_its_base() {
    let sample = Sample::new();
    let (old, patch) = (sample.path("old.erofs"), sample.path("patch.erofs"));
    printed(args!["build", "-q", "-z", "zstd", sample.src(), old]);
    fs::write(sample.src().join("another"), compressible(50_000)).unwrap();
    for more in [&[][..], &["--flat"]] {
        let start = args!["build", "--force", "--base", old].into_iter();
        let built =
            lith(start.chain(more.iter().map(Into::into)).chain(args![sample.src(), patch]));
        let said = String::from_utf8_lossy(&built.stderr).into_owned();
        assert!(built.status.success(), "{said}");
        let expected = "mounts on Linux 6.10 and later, as its bases do: zstd";
        assert!(said.contains(expected), "{more:?}: {said}");
    }
    printed(args!["build", "-q", "--force", "--base", old, sample.src(), patch]);
    assert_eq!(printed(args!["diff", sample.src(), patch]), "");
    let refused = lith(args!["build", "--kernel", "6.1", "--base", old, sample.src(), patch]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && said.contains("zstd compression needs Linux 6.10"),
        "{said}"
    );
}
