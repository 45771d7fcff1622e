//! Files of sizes around every boundary, compressible or not, and sparse ones.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::Path,
};

use super::bed::Bed;
use crate::noise::{Texture, bytes};

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// Sizes around those of inodes, blocks, lclusters and pclusters.
const SMALL: [usize; 22] = [
    0, 1, 2, 31, 32, 511, 512, 513, 4031, 4032, 4033, 4064, 4095, 4096, 4097, 8191, 8192, 8193,
    16383, 16385, 65535, 65537,
];

/// Sizes around those of large pclusters, and of the pieces that a build works on.
const LARGE: [(usize, Texture); 11] = [
    (64 * KIB, Texture::Text),
    (128 * KIB - 1, Texture::Mixed),
    (128 * KIB + 1, Texture::Mixed),
    (MIB - 1, Texture::Mixed),
    (MIB, Texture::Noise),
    (MIB + 1, Texture::Text),
    (4 * MIB - 1, Texture::Text),
    (4 * MIB, Texture::Mixed),
    (4 * MIB + 1, Texture::Mixed),
    (4 * MIB + 4097, Texture::Noise),
    (9 * MIB, Texture::Pattern),
];

pub(super) fn plant(bed: &Bed) {
    let folder = bed.folder("sizes");
    for texture in Texture::ALL {
        for size in SMALL {
            let content = bytes(texture, size as u64, size);
            fs::write(folder.join(format!("{texture:?}-{size}")), content).unwrap();
        }
    }
    for (size, texture) in LARGE {
        fs::write(folder.join(format!("large-{size}")), bytes(texture, 9, size)).unwrap();
    }
    // Compressible first, then not: the gain of the one must not hide the loss of the other.
    let half = [bytes(Texture::Text, 1, 2 * MIB), bytes(Texture::Noise, 2, 4 * MIB)].concat();
    fs::write(folder.join("half-and-half"), half).unwrap();
    plant_sparse(&bed.folder("sparse"));
}

/// Each file's size, and the positions and lengths of data in it.
type Sparse = (&'static str, usize, &'static [(usize, usize)]);

const SPARSE: [Sparse; 9] = [
    ("nothing-but-hole", 10 * MIB, &[]),
    ("hole-of-a-byte", 1, &[]),
    ("hole-in-front", MIB + 100, &[(MIB, 100)]),
    ("hole-behind", MIB, &[(0, 100)]),
    ("hole-up-to-a-block-and-a-byte", 5 * MIB + 1, &[(2 * MIB, 5000)]),
    ("island", 20 * MIB, &[(9 * MIB + 17, 70_000)]),
    ("over-pieces", 13 * MIB, &[(4 * MIB - 1, 2), (8 * MIB, 4096), (12 * MIB + 5, MIB - 5)]),
    (
        "combed",
        256 * KIB,
        &[
            (4096, 4096),
            (3 * 4096, 4096),
            (5 * 4096, 1),
            (7 * 4096 + 4095, 1),
            (64 * KIB, 64 * KIB),
        ],
    ),
    ("mostly-data", 3 * MIB, &[(0, MIB), (MIB + 64 * KIB, MIB), (2 * MIB + 128 * KIB, 900 * KIB)]),
];

fn plant_sparse(folder: &Path) {
    for (name, size, stretches) in SPARSE {
        let file = File::create(folder.join(name)).unwrap();
        file.set_len(size as u64).unwrap();
        for (position, length) in stretches {
            let content = bytes(Texture::Mixed, *position as u64, *length);
            file.write_all_at(&content, *position as u64).unwrap();
        }
    }
    // Zeros that are written out are no hole, and yet the same bytes.
    fs::write(folder.join("zeros"), vec![0; 3 * MIB + 5]).unwrap();
}

/// Makes a file over 4 GiB of which almost nothing is stored.
pub fn plant_huge(path: &Path) {
    let file = File::create(path).unwrap();
    file.set_len((5 << 30) + 12345).unwrap();
    for position in [0, (4 << 30) - 3, (4 << 30) + (1 << 20), (5 << 30) + 12300] {
        file.write_all_at(&bytes(Texture::Noise, position, 45), position).unwrap();
    }
}
