//! Pages: made again from their JSON, and those that come with the source.

use super::*;

#[test]
fn a_page_is_made_again_from_its_json() {
    let folder = tempfile::tempdir().expect("a folder");
    let origin = Provenance { command: "compressive-lab run example".into(), ..Provenance::default() };
    let files = write(&example(), &origin, folder.path()).expect("written");
    let page = std::fs::read_to_string(&files[0]).expect("the page");
    std::fs::write(&files[0], "lost").expect("overwritten");
    assert_eq!(render(folder.path()).expect("rendered"), files[..1]);
    assert_eq!(std::fs::read_to_string(&files[0]).expect("the page"), page);
    std::fs::write(folder.path().join("other.json"), "{}").expect("written");
    let error = render(folder.path()).expect_err("no report").to_string();
    assert!(error.contains("other.json") && error.contains("not the report"), "{error}");
}

/// The results that come with the source.
fn committed() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results")
}

#[test]
fn committed_pages_are_those_of_their_json_and_say_why_rows_fall_short() {
    let pages = pages(&committed()).expect("the results");
    assert!(pages.len() > 15);
    for (path, page) in pages {
        let name = path.display();
        // Compared line by line, so that a difference is seen.
        let there = std::fs::read_to_string(&path).expect("a page beside its JSON");
        let differ = there.lines().zip(page.lines()).find(|(a, b)| a != b);
        assert_eq!(
            (differ, there.len()),
            (None, page.len()),
            "{name}: make it again with `compressive-lab render`"
        );
        let line = page.lines().find(|line| line.starts_with("**Verdict**: ")).expect("a verdict");
        let short = ["missed", "worse than published", "is met: "].iter().any(|word| line.contains(word));
        assert_eq!(short, page.contains("\nWhy: "), "{name}: {line}");
        assert!(!line.contains("nothing on this page is judged"), "{name}");
    }
}
