//! Maps series to colours: a known name has the same one in every picture.

use plotters::style::RGBColor;

pub(super) const CARD: RGBColor = RGBColor(0xFF, 0xFF, 0xFF);
/// Text, axes and whiskers.
pub(super) const INK: RGBColor = RGBColor(0x24, 0x29, 0x2F);
pub(super) const GRID: RGBColor = RGBColor(0xD8, 0xDE, 0xE4);

/// What takes the place of [`CARD`], [`INK`] and [`GRID`] in the dark.
pub(super) const DARK: [(RGBColor, RGBColor); 3] = [
    (CARD, RGBColor(0x16, 0x1B, 0x22)),
    (INK, RGBColor(0xE6, 0xED, 0xF3)),
    (GRID, RGBColor(0x3D, 0x44, 0x4D)),
];

// Those of Okabe and Ito, which people with any kind of colour vision can distinguish, and shades of them.
const VERMILION: RGBColor = RGBColor(0xD5, 0x5E, 0x00);
const ORANGE: RGBColor = RGBColor(0xE6, 0x9F, 0x00);
const BLUE: RGBColor = RGBColor(0x00, 0x72, 0xB2);
const SKY: RGBColor = RGBColor(0x56, 0xB4, 0xE9);
const GREEN: RGBColor = RGBColor(0x00, 0x9E, 0x73);
const MINT: RGBColor = RGBColor(0x7F, 0xCF, 0xB5);
const PURPLE: RGBColor = RGBColor(0xCC, 0x79, 0xA7);
const GREY: RGBColor = RGBColor(0x8C, 0x95, 0x9F);
const SLATE: RGBColor = RGBColor(0x5D, 0x65, 0x70);
const BROWN: RGBColor = RGBColor(0x9A, 0x6B, 0x3F);
const OLIVE: RGBColor = RGBColor(0xA8, 0x9F, 0x1D);
const PEACH: RGBColor = RGBColor(0xF0, 0xB2, 0x7A);
const LEAF: RGBColor = RGBColor(0x6B, 0x8E, 0x23);
const PINK: RGBColor = RGBColor(0xE7, 0xB3, 0xCF);

/// What a name begins with or has in it, and its colour; the first that fits is taken.
const KNOWN: [(&str, RGBColor); 13] = [
    ("squashfuse_ll", MINT),
    ("squashfuse", LEAF),
    ("squash", GREEN),
    ("erofsfuse", SKY),
    ("erofs", BLUE),
    ("dwarfs", PURPLE),
    ("ext4", GREY),
    ("xfs", SLATE),
    ("btrfs", BROWN),
    ("f2fs", OLIVE),
    ("tar", PINK),
    ("page cache", GREY),
    ("directory", GREY),
];

/// For names that are not known, and for those whose colour another one of the picture has.
const OTHERS: [RGBColor; 12] =
    [SKY, PURPLE, GREEN, BLUE, OLIVE, GREY, BROWN, MINT, PINK, SLATE, ORANGE, VERMILION];

/// A colour for each series, different ones as long as there are any.
pub(super) fn of_series(names: &[&str]) -> Vec<RGBColor> {
    let mut taken: Vec<RGBColor> = Vec::new();
    for name in names {
        let own = known(name).filter(|colour| !taken.contains(colour));
        let free = || {
            let wanted: Vec<_> = names.iter().filter_map(|name| known(name)).collect();
            let unused = OTHERS.iter().filter(|colour| !taken.contains(colour));
            let unwanted = unused.clone().find(|colour| !wanted.contains(colour));
            unwanted.or_else(|| unused.clone().next()).copied()
        };
        taken.push(own.or_else(free).unwrap_or(GREY));
    }
    taken
}

fn known(name: &str) -> Option<RGBColor> {
    let name = name.to_lowercase();
    if name.starts_with("lith") {
        return Some(match () {
            () if name.contains("--") => PEACH,
            () if name.contains("fuse") => ORANGE,
            () => VERMILION,
        });
    }
    KNOWN.iter().find(|(part, _)| name.contains(part)).map(|(_, colour)| *colour)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names_keep_their_colour_in_any_company() {
        assert_eq!(of_series(&["lith", "SquashFS, kernel"]), [VERMILION, GREEN]);
        assert_eq!(of_series(&["other", "SquashFS, kernel", "lith"])[1..], [GREEN, VERMILION]);
        assert_eq!(of_series(&["mkfs.erofs", "erofsfuse"]), [BLUE, SKY]);
        assert_eq!(of_series(&["squashfuse", "squashfuse_ll"]), [LEAF, MINT]);
        assert_eq!(of_series(&["lith, FUSE, --cache 32M", "lith, FUSE"]), [PEACH, ORANGE]);
    }

    #[test]
    fn no_two_series_share_a_colour() {
        let names = ["lith", "lith 2", "erofs", "kernel EROFS", "a", "b", "c", "d", "e"];
        let colours = of_series(&names);
        for (index, colour) in colours.iter().enumerate() {
            assert!(!colours[..index].contains(colour), "{}", names[index]);
        }
    }
}
