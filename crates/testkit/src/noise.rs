//! Generates reproducible bytes of every degree of compressibility.

/// Numbers that look random and are the same in every run.
#[derive(Clone, Debug)]
pub struct Noise(u64);

impl Noise {
    /// The sequence of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number: splitmix64.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`, which is not 0.
    pub const fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// Puts a list into another order.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for at in (1..list.len()).rev() {
            list.swap(at, self.below(at + 1));
        }
    }
}

/// How well bytes compress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Texture {
    /// All zero.
    Zeros,
    /// Words in random order: to about a third.
    Text,
    /// Not at all.
    Noise,
    /// A pattern again and again: to almost nothing.
    Pattern,
    /// Stretches of all others, from some bytes to some thousand.
    Mixed,
}

impl Texture {
    /// All textures.
    pub const ALL: [Self; 5] = [Self::Zeros, Self::Text, Self::Noise, Self::Pattern, Self::Mixed];
}

const WORDS: [&[u8]; 16] = [
    b"cluster ",
    b"inode ",
    b"extent ",
    b"the ",
    b"of ",
    b"superblock ",
    b"is ",
    b"block\n",
    b"tail ",
    b"name ",
    b"tree ",
    b"image ",
    b"and ",
    b"fragment ",
    b"0x7f ",
    b"directory\n",
];

/// So many bytes of a texture. Different seeds give different bytes, except for zeros.
#[must_use]
pub fn bytes(texture: Texture, seed: u64, length: usize) -> Vec<u8> {
    let mut noise = Noise::new(seed);
    let mut bytes = Vec::with_capacity(length + 16);
    match texture {
        Texture::Zeros => bytes.resize(length, 0),
        Texture::Text => {
            while bytes.len() < length {
                bytes.extend_from_slice(WORDS[noise.below(WORDS.len())]);
            }
        }
        Texture::Noise => {
            while bytes.len() < length {
                bytes.extend_from_slice(&noise.next().to_le_bytes());
            }
        }
        Texture::Pattern => {
            let period = 1 + noise.below(300);
            let pattern = self::bytes(Texture::Noise, noise.next(), period);
            bytes.extend(pattern.iter().cycle().take(length));
        }
        Texture::Mixed => mix(&mut bytes, &mut noise, length),
    }
    bytes.truncate(length);
    bytes
}

fn mix(bytes: &mut Vec<u8>, noise: &mut Noise, length: usize) {
    while bytes.len() < length {
        let texture = Texture::ALL[noise.below(Texture::ALL.len() - 1)];
        let longest = [20, 300, 5000, 70_000][noise.below(4)];
        let stretch = 1 + noise.below(longest);
        bytes.extend(self::bytes(texture, noise.next(), stretch.min(length - bytes.len())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_the_same_in_every_run_and_as_many_as_asked_for() {
        for texture in Texture::ALL {
            for length in [0, 1, 4095, 100_000] {
                assert_eq!(bytes(texture, 7, length).len(), length);
                assert!(bytes(texture, 7, length) == bytes(texture, 7, length));
            }
        }
        assert_eq!(Noise::new(1).next(), 0x910a_2dec_8902_5cc1);
    }

    #[test]
    fn a_shuffled_list_has_the_same_items() {
        let mut list: Vec<_> = (0..100).collect();
        Noise::new(3).shuffle(&mut list);
        assert!(!list.is_sorted());
        list.sort_unstable();
        assert!(list.into_iter().eq(0..100));
    }
}
