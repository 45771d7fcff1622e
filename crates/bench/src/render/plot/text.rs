//! Estimates the size of text, without a font, for wide letters.

use plotters::style::{
    FontFamily, FontStyle, FontTransform, IntoFont, TextStyle,
    text_anchor::{HPos, Pos, VPos},
};

use super::colours::INK;

/// Pixels of the smallest letters.
pub(super) const SMALL: i32 = 12;
/// Pixels of a title's letters.
pub(super) const LARGE: i32 = 16;
/// Pixels from one line to the next of the smallest letters.
pub(super) const LINE: i32 = 16;

/// The position of a text relative to its point.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Middle,
    Left,
    Right,
    /// Read from bottom to top, its end at the point.
    Upwards,
}

/// Letters of that height, centred vertically.
pub(super) fn style(pixels: i32, anchor: Anchor) -> TextStyle<'static> {
    let (edge, turn) = match anchor {
        Anchor::Middle => (HPos::Center, FontTransform::None),
        Anchor::Left => (HPos::Left, FontTransform::None),
        Anchor::Right => (HPos::Right, FontTransform::None),
        Anchor::Upwards => (HPos::Right, FontTransform::Rotate270),
    };
    let weight = if pixels > SMALL { FontStyle::Bold } else { FontStyle::Normal };
    // The backend divides by this number.
    let size = f64::from(pixels) * 1.24;
    let font = (FontFamily::SansSerif, size, weight).into_font().transform(turn);
    TextStyle::from(font).color(&INK).pos(Pos::new(edge, VPos::Center))
}

/// Pixels that a text is wide at most.
pub(super) fn width(text: &str, pixels: i32) -> i32 {
    let letters = i32::try_from(text.chars().count()).unwrap_or(i32::MAX);
    letters.saturating_mul(pixels).saturating_mul(66) / 100
}

/// Lines of whole words that are no wider than that, unless a single word is.
pub(super) fn wrapped(text: &str, pixels: i32, most: i32) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in &words(text) {
        match lines.last_mut() {
            Some(line) if width(line, pixels) + width(word, pixels) + pixels <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.clone()),
        }
    }
    lines
}

/// The words of a text, in which a number and its unit are one.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(number) if number.bytes().all(|letter| letter.is_ascii_digit()) => {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// The text, its end cut off if it is longer than that many letters.
pub(super) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(most.saturating_sub(1)).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_hold_whole_words() {
        assert_eq!(wrapped("lz4hc,12 4 KiB", SMALL, 80), ["lz4hc,12", "4 KiB"]);
        assert_eq!(wrapped("lz4hc,12 4 KiB", SMALL, 200), ["lz4hc,12 4 KiB"]);
        assert_eq!(wrapped("lz4, 64 KiB", SMALL, 60), ["lz4,", "64 KiB"]);
        assert_eq!(wrapped("unbreakable", SMALL, 10), ["unbreakable"]);
        assert!(wrapped("", SMALL, 10).is_empty());
    }

    #[test]
    fn long_texts_end_in_dots() {
        assert_eq!(shortened("four", 4), "four");
        assert_eq!(shortened("fünf und", 5), "fünf…");
    }
}
