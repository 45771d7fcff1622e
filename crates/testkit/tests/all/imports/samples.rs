//! Tests the scanner with small crates written here.

use std::collections::BTreeSet;

use super::graph::{Crate, circles};

/// The arrows of a crate of these files, as `from -> to`.
fn arrows(files: &[(&str, &str)]) -> Vec<String> {
    let all = load(files);
    all.arrows()
        .keys()
        .map(|(from, to)| format!("{} -> {}", all.files[*from], all.files[*to]))
        .collect()
}

fn load(files: &[(&str, &str)]) -> Crate {
    let read = |path: &str| files.iter().find(|file| file.0 == path).map(|file| file.1.to_owned());
    Crate::load(&["lib.rs", "main.rs"], &read)
}

fn circles_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let all = load(files);
    let arrows: BTreeSet<_> = all.arrows().into_keys().collect();
    let names = |circle: Vec<usize>| circle.iter().map(|file| all.files[*file].clone()).collect();
    circles(&arrows).into_iter().map(names).collect()
}

#[test]
fn an_import_is_an_arrow_to_the_file_that_defines_the_item() {
    let files = [
        ("lib.rs", "mod a; mod b; pub use self::b::B;"),
        ("a.rs", "use crate::b::B; struct A(B);"),
        ("b.rs", "pub struct B;"),
    ];
    assert_eq!(arrows(&files), ["a.rs -> b.rs"]);
}

#[test]
fn reexports_are_followed_to_where_the_item_is() {
    let files = [
        ("lib.rs", "mod a; mod folder; pub use folder::*; pub use folder::C as D;"),
        ("a.rs", "use crate::{B, D}; struct A(B, D);"),
        ("folder/mod.rs", "mod b; mod c; pub use self::{b::B, c::C};"),
        ("folder/b.rs", "pub struct B;"),
        ("folder/c.rs", "pub struct C;"),
    ];
    assert_eq!(arrows(&files), ["a.rs -> folder/b.rs", "a.rs -> folder/c.rs"]);
}

#[test]
fn a_child_may_use_its_parents_types_unless_the_parent_uses_the_child() {
    let mut files = vec![
        ("lib.rs", "mod folder;"),
        ("folder/mod.rs", "mod child; pub use child::Child; pub struct Parent;"),
        ("folder/child.rs", "use super::Parent; pub struct Child(Parent);"),
    ];
    assert_eq!(arrows(&files), ["folder/child.rs -> folder/mod.rs"]);
    assert!(circles_of(&files).is_empty());
    files[1].1 = "mod child; pub use child::Child; pub struct Parent(Option<Box<Child>>);";
    assert_eq!(circles_of(&files), [["folder/mod.rs", "folder/child.rs"]]);
}

#[test]
fn paths_in_code_macros_and_attributes_count() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c; mod d;"),
        (
            "a.rs",
            "use crate::b; fn f() { let x = b::value(1); println!(\"{}\", crate::c::NUMBER); }",
        ),
        ("b.rs", "pub fn value(n: u8) -> u8 { n }"),
        ("c.rs", "pub const NUMBER: u8 = { 1 }; #[arg(value_parser = super::d::parse)] struct C;"),
        ("d.rs", "pub fn parse() {}"),
    ];
    assert_eq!(arrows(&files), ["a.rs -> b.rs", "a.rs -> c.rs", "c.rs -> d.rs"]);
}

#[test]
fn an_import_of_a_module_alone_is_no_arrow() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::b as other;"),
        ("b.rs", "pub fn f() {}"),
    ];
    assert!(arrows(&files).is_empty());
}

#[test]
fn what_only_tests_have_does_not_count() {
    let files = [
        ("lib.rs", "mod a; mod b; #[cfg(test)] mod tests;"),
        ("a.rs", "#[cfg(test)] use crate::b::B; struct A; impl A { #[cfg(test)] fn b() -> crate::b::B { todo!() } }
            #[cfg(all(test, unix))] mod tests { use crate::b::*; fn f() -> B { B } }
            #[test] fn t() { crate::b::f(); }"),
        ("b.rs", "pub struct B; pub fn f() {} #[cfg(not(test))] use super::a::A;"),
    ];
    assert_eq!(arrows(&files), ["b.rs -> a.rs"]);
}

#[test]
fn text_comments_fields_and_variables_are_no_imports() {
    let files = [
        ("lib.rs", "mod a; mod b; pub use b::name; pub struct L;"),
        ("a.rs", "use super::*; // crate::b::B
            /// [`crate::b::B`]
            fn f<'name>(x: &'name L) { let name = \"crate::b::B\"; let r = r#\"crate::b::name()\"#; x.name(); }"),
        ("b.rs", "pub struct B; pub fn name() {}"),
    ];
    assert_eq!(arrows(&files), ["a.rs -> lib.rs"]);
}

#[test]
fn imports_by_a_glob_and_within_functions_count() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c;"),
        (
            "a.rs",
            "use crate::b::*; fn f() -> B { use crate::c::C; B(C) } fn g<'a>() -> impl Sized + use<'a> {}",
        ),
        ("b.rs", "pub struct B(C); use crate::c::*;"),
        ("c.rs", "pub struct C;"),
    ];
    assert_eq!(arrows(&files), ["a.rs -> b.rs", "a.rs -> c.rs", "b.rs -> c.rs"]);
}

#[test]
fn methods_in_another_file_than_their_type_are_a_circle_if_its_file_calls_them() {
    let mut files = vec![
        ("lib.rs", "mod a; mod a_more;"),
        ("a.rs", "pub struct A<T>(T); impl<T> A<T> { fn one(&self) {} }"),
        (
            "a_more.rs",
            "use crate::a::A; impl<T: Into<u8>> A<T> where T: Copy { pub fn two(&self) {} }",
        ),
    ];
    assert_eq!(arrows(&files), ["a_more.rs -> a.rs"]);
    files[1].1 = "pub struct A<T>(T); impl<T> A<T> { fn one(&self) { self.two() } }";
    assert_eq!(circles_of(&files), [["a.rs", "a_more.rs"]]);
    files[2].1 =
        "use crate::a::A; trait Two { fn two(&self); } impl<T> Two for A<T> { fn two(&self) {} }";
    assert!(circles_of(&files).is_empty());
}

#[test]
fn a_function_of_a_type_leads_to_its_block() {
    let files = [
        ("lib.rs", "mod a; mod more; mod user;"),
        ("a.rs", "pub struct A;"),
        ("more.rs", "use super::a::A; impl A { pub const fn new() -> A { A } }"),
        ("user.rs", "fn f() -> crate::a::A { crate::a::A::new() }"),
    ];
    assert_eq!(arrows(&files), ["more.rs -> a.rs", "user.rs -> a.rs", "user.rs -> more.rs"]);
}

#[test]
fn inline_modules_belong_to_their_file_and_folders_to_their_module() {
    let files = [
        ("main.rs", "mod a; mod inner { pub struct I; mod deep; }"),
        ("a.rs", "mod b; use crate::inner::I;"),
        ("a/b.rs", "use super::super::inner::I;"),
        ("inner/deep.rs", "pub(crate) static S: u8 = 1;"),
    ];
    assert_eq!(arrows(&files), ["a.rs -> main.rs", "a/b.rs -> main.rs"]);
}

#[test]
fn a_module_and_a_function_may_share_a_name() {
    let files = [
        ("lib.rs", "mod decode; mod a; pub use decode::decode;"),
        ("decode.rs", "pub fn decode() {}"),
        ("a.rs", "use crate::decode; fn f() { decode() }"),
    ];
    assert_eq!(arrows(&files), ["a.rs -> decode.rs"]);
}

#[test]
fn enumerations_macros_and_foreign_functions_are_items() {
    let files = [
        ("lib.rs", "#[macro_use] mod m; mod e; mod f; mod user;"),
        ("m.rs", "macro_rules! row { () => { 1 }; } pub(crate) use row;"),
        ("e.rs", "pub enum Kind { One, Two }"),
        ("f.rs", "unsafe extern \"C\" { pub fn call(x: u8); } pub const unsafe fn g() {}"),
        (
            "user.rs",
            "use crate::{e::Kind::*, m::row}; fn h(k: crate::e::Kind) { unsafe { super::f::call(row!()) } }",
        ),
    ];
    assert_eq!(arrows(&files), ["user.rs -> e.rs", "user.rs -> f.rs", "user.rs -> m.rs"]);
}

#[test]
fn an_import_of_itself_ends() {
    let files = [
        ("lib.rs", "mod a; pub use a::*;"),
        (
            "a.rs",
            "pub use super::*; pub use crate::a::a; use self::missing::Missing; struct A(Missing);",
        ),
    ];
    assert!(arrows(&files).is_empty());
}
