//! Media in messages, which are base64.

use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{DecodeError, Engine};

/// The reason why a text is not base64.
#[derive(Debug, PartialEq)]
pub(crate) enum NotBase64 {
    /// It is hexadecimal, and begins like a media file.
    Hexadecimal,
    /// It does not decode.
    Invalid(DecodeError),
}

/// Returns why a text is not base64 of the standard alphabet; padding is optional.
pub(crate) fn not_base64(text: &str) -> Option<NotBase64> {
    const MAGIC: [&str; 9] =
        ["89504e47", "ffd8ff", "47494638", "52494646", "494433", "4f676753", "664c6143", "fffb", "25504446"];
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let lower = text.to_lowercase();
    let hex = text.len() > 8 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if hex && MAGIC.iter().any(|magic| lower.starts_with(&magic.to_lowercase())) {
        return Some(NotBase64::Hexadecimal);
    }
    let engine = GeneralPurpose::new(&base64::alphabet::STANDARD, config.with_decode_allow_trailing_bits(true));
    engine.decode(text).err().map(NotBase64::Invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_data_urls_and_hexadecimal_as_base64() {
        assert_eq!(not_base64("iVBORw0KGgo="), None);
        assert_eq!(not_base64("iVBORw0KGgo"), None);
        assert!(not_base64("data:image/png;base64,iVBORw0KGgo=").is_some());
        assert_eq!(not_base64("524946460000000057415645"), Some(NotBase64::Hexadecimal));
    }
}
