//! The page at `/`: a document, a style sheet and a script that are the same for everybody and hold no data.
//! The script asks for data as every other client does, with the token that its reader types.
//!
//! The policy lets the page load its own two files, ask its own server and nothing else: no inline script, no
//! foreign script, font, picture or frame, and no form that leaves it.

use std::sync::LazyLock;

use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY, X_FRAME_OPTIONS,
};
use axum::response::{IntoResponse, Response};

const DOCUMENT: &str = include_str!("page/page.html");
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The style sheet of reports, and what the page has beside them.
static STYLE: LazyLock<String> =
    LazyLock::new(|| [&compressive_report::style(), include_str!("page/style.css")].concat());

/// One module, in parts: each uses only those before it.
static SCRIPT: LazyLock<String> = LazyLock::new(|| {
    [
        compressive_report::CHART_SCRIPT,
        include_str!("page/ask.js"),
        include_str!("page/words.js"),
        include_str!("page/stream.js"),
        include_str!("page/model.js"),
        include_str!("page/main.js"),
    ]
    .concat()
});

fn file(media_type: &'static str, text: &'static str) -> Response {
    let headers = [
        (CONTENT_TYPE, media_type),
        (CONTENT_SECURITY_POLICY, POLICY),
        (CACHE_CONTROL, "no-cache"),
        (REFERRER_POLICY, "no-referrer"),
        (X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    (headers, text).into_response()
}

/// `GET /`.
pub(super) async fn document() -> Response {
    file("text/html; charset=utf-8", DOCUMENT)
}

/// `GET /page.css`.
pub(super) async fn style() -> Response {
    file("text/css; charset=utf-8", &STYLE)
}

/// `GET /page.js`.
pub(super) async fn script() -> Response {
    file("text/javascript; charset=utf-8", &SCRIPT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_writes_markup_or_names_another_place() {
        for text in [DOCUMENT, &STYLE, &SCRIPT] {
            let markup = [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
                " style=\"",
                "onclick",
            ];
            assert!(markup.iter().all(|word| !text.contains(word)), "markup from text");
            // The one address is the name of a vocabulary, which is not asked for.
            assert!(!text.replace("http://www.w3.org/2000/svg", "").contains("://"), "an address");
        }
    }
}
