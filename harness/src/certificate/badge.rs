//! The badge: verdict and coverage as a self-contained picture.

use maud::html;

use super::model::Certificate;
use crate::protocol::edition_label;
use crate::report::visible::in_one_line;
use crate::verdict::Conformance;

const MARGIN: usize = 8;

/// The longest text.
const LONGEST: usize = 200;

/// Renders the badge of a certificate as SVG.
#[must_use]
pub(super) fn badge(certificate: &Certificate) -> String {
    let Certificate { subject, suite, verdict, coverage, .. } = certificate;
    let left = format!("ACP {}", edition_label(&suite.edition));
    let right = format!("{} · {}/{} MUST", verdict.name(), coverage.must.pass, coverage.must.applicable());
    let name = subject.name.as_deref().unwrap_or(subject.kind.name());
    let version = subject.version.as_ref().map_or_else(String::new, |version| format!(" {version}"));
    let title = escaped(&format!("{name}{version}, {left}: {right} requirements passed"));
    let [left_long, right_long] = [&left, &right].map(|text| width(text));
    let [left_wide, right_wide] = [left_long, right_long].map(|long| long + 2 * MARGIN);
    let (wide, right_at, colour) = (left_wide + right_wide, left_wide + MARGIN, colour(*verdict));
    let [left, right] = [left, right].map(|text| escaped(&text));
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="20" viewBox="0 0 {wide} 20" role="img" aria-label="{title}">
<title>{title}</title>
<clipPath id="edge"><rect width="{wide}" height="20" rx="3"/></clipPath>
<g clip-path="url(#edge)"><rect width="{left_wide}" height="20" fill="#3b4048"/><rect x="{left_wide}" width="{right_wide}" height="20" fill="{colour}"/></g>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="{MARGIN}" y="14" textLength="{left_long}" lengthAdjust="spacingAndGlyphs">{left}</text>
<text x="{right_at}" y="14" textLength="{right_long}" lengthAdjust="spacingAndGlyphs">{right}</text>
</g>
</svg>
"##
    )
}

/// Estimates the width of a text; `textLength` makes it fill exactly that width in any font.
fn width(text: &str) -> usize {
    (text.chars().count() * 13).div_ceil(2)
}

/// All colours are dark enough for white letters.
const fn colour(verdict: Conformance) -> &'static str {
    match verdict {
        Conformance::Conformant => "#1a7f37",
        Conformance::Incomplete => "#8a5a00",
        Conformance::NotConformant => "#b42318",
        Conformance::HarnessError => "#57606a",
    }
}

/// Escapes a text for XML and cuts a long one.
fn escaped(text: &str) -> String {
    html! { (in_one_line(&text.chars().take(LONGEST).collect::<String>())) }.into_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_name_stays_text() {
        let text = escaped("</title><script a=\"b\">&\u{0}\u{1b}\n\u{fffe}é");
        assert_eq!(text, r"&lt;/title&gt;&lt;script a=&quot;b&quot;&gt;&amp;\u{0}\u{1b} \u{fffe}é");
    }
}
