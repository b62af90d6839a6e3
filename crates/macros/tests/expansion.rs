//! What `#[preemptible]` makes of a function, token by token. The compiler's tokens exist only while it expands a macro, so the
//! files of the macro are compiled a second time here, with tokens that exist everywhere.

#![allow(clippy::cmp_owned)] // the compiler's own words cannot be compared with text

extern crate proc_macro2 as proc_macro;

#[path = "../src/cursor.rs"]
mod cursor;
#[path = "../src/error.rs"]
mod error;
#[path = "../src/expression.rs"]
mod expression;
#[path = "../src/function.rs"]
#[allow(dead_code)] // each attribute uses its part
mod function;
#[path = "../src/options.rs"]
#[allow(dead_code)]
mod options;
#[path = "../src/preemptible.rs"]
mod preemptible;
#[path = "../src/tokens.rs"]
mod tokens;
#[path = "../src/walk.rs"]
mod walk;

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

fn tokens(text: &str) -> TokenStream {
    text.parse().unwrap()
}

/// In what is expected `POINT;` and `AWAIT;` stand for the two kinds of points.
fn becomes(options: &str, before: &str, after: &str) {
    let after = after.replace("POINT;", "::ropewalk::preempt_point();");
    let after = after.replace("AWAIT;", "::ropewalk::preempt().await;");
    let made = preemptible::expand(tokens(options), tokens(before)).to_string();
    assert_eq!(made, tokens(&after).to_string(), "\nfrom {before}");
}

fn loops(before: &str, after: &str) {
    becomes("", before, after);
}

fn calls(before: &str, after: &str) {
    becomes("calls", before, after);
}

/// Statements in which there is nothing to do, beside a loop in which there is.
fn leaves_alone(statements: &str) {
    for head in ["fn f()", "async fn f()"] {
        let point = if head.starts_with("async") { "AWAIT;" } else { "POINT;" };
        becomes(
            "",
            &format!("{head} {{ {statements} loop {{}} }}"),
            &format!("{head} {{ {statements} loop {{ {point} }} }}"),
        );
    }
}

/// An expression with a loop in it: the point is where `HERE` is.
fn finds(expression: &str) {
    let fills: [(&str, &str); 2] = [("POINT;", "fn f()"), ("AWAIT;", "async fn f()")];
    for (point, head) in fills {
        for statement in
            ["EXPRESSION", "EXPRESSION;", "let x = EXPRESSION;", "g(EXPRESSION, 1);", "{ EXPRESSION }"]
        {
            let code = format!("{head} {{ {} last }}", statement.replace("EXPRESSION", expression));
            becomes("", &code.replace("HERE", ""), &code.replace("HERE", point));
        }
    }
}

#[test]
fn each_kind_of_loop_has_its_point_first() {
    finds("loop { HERE work(); }");
    finds("while x < 3 { HERE x += 1; }");
    finds("while let Some(x) = list.pop() { HERE x }");
    finds("for x in 0..3 { HERE x }");
    finds("loop { HERE }");
}

#[test]
fn labels_and_continue() {
    loops(
        "fn f() { 'a: loop { 'b: for x in y { if x { continue 'a; } else { break 'b; } } continue; } }",
        "fn f() { 'a: loop { POINT; 'b: for x in y { POINT; if x { continue 'a; } else { break 'b; } } continue; } }",
    );
    finds("'a: loop { HERE break 'a 1 }");
    finds("'a: { loop { HERE break 'a 1 } }");
    finds("loop { HERE break loop { HERE break 'a 5 } }");
}

#[test]
fn what_is_around_the_body_stays() {
    loops(
        "/// Doc.\n#[inline] pub(crate) unsafe extern \"C\" fn f<'a, F: Fn(u8) -> bool, const N: usize>(&'a self, (a, b): (u8, u8)) -> [u8; { 3 }] where F: Send { loop {} }",
        "/// Doc.\n#[inline] pub(crate) unsafe extern \"C\" fn f<'a, F: Fn(u8) -> bool, const N: usize>(&'a self, (a, b): (u8, u8)) -> [u8; { 3 }] where F: Send { loop { POINT; } }",
    );
}

#[test]
fn inner_attributes_stay_first() {
    loops(
        "fn f() { #![allow(a)] loop { #![allow(b)] g(); } }",
        "fn f() { #![allow(a)] loop { #![allow(b)] POINT; g(); } }",
    );
}

#[test]
fn loops_are_found_wherever_they_are() {
    finds("if a { loop { HERE } } else if b { for x in y { HERE } } else { while c { HERE } }");
    finds(
        "match a { A => loop { HERE }, B { x, .. } if x < 1 => { for a in b { HERE } } C | D => while a { HERE } _ => e }",
    );
    finds("(1, [loop { HERE }, 2], Point { x: loop { HERE }, y, ..loop { HERE } })");
    finds("-loop { HERE } + *&mut loop { HERE }.x[loop { HERE }]?.y(loop { HERE })");
    finds("unsafe { loop { HERE } }");
    finds("return loop { HERE }");
    finds("&raw const *loop { HERE }");
    finds("x = loop { HERE }");
    finds("#[allow(x)] loop { HERE }");
    finds("a..loop { HERE }");
    finds("a::<{ N }, [u8; 3]>::b::<Vec<Vec<u8>>>(loop { HERE })");
    finds("<[u8; 3] as Default>::default(loop { HERE })");
    finds("<<A as B>::C as D>::e(loop { HERE })");
    finds("r#loop { x: loop { HERE } }");
    loops(
        "fn f() { let Some(x) = loop { break y } else { loop {} }; }",
        "fn f() { let Some(x) = loop { POINT; break y } else { loop { POINT; } }; }",
    );
}

#[test]
fn the_body_of_a_loop_is_told_from_other_braces() {
    finds("while { loop { HERE } } { HERE }");
    finds("while match a { A { .. } => true, _ => false } { HERE }");
    finds("while if a { b } else { c } { HERE }");
    finds("while let Foo { a, b: Bar { c } } = unsafe { d } { HERE }");
    finds("while a && let Foo { b } | Bar { b } = c && b < d { HERE }");
    finds("while !{ a } { HERE }");
    finds("while a == (Foo { b }) { HERE }");
    finds("while a == b! { c } { HERE }");
    finds("while a as usize <= b as Foo<{ 3 }> { HERE }");
    finds("while a as fn(u8) -> Foo<u8> == b { HERE }");
    finds("while a as *const dyn Fn(u8) -> u8 == b { HERE }");
    finds("while list.iter().any(|x| { x }) { HERE }");
    finds("while (|| -> Foo { loop {} })() { HERE }");
    finds("while a < b && c > d || e << f >> g != h { HERE }");
    finds("while a[..] == b[1..] { HERE }");
    finds("for Foo { a, b } in c { HERE }");
    finds("for (Foo { a, .. }, 1..=3 | 5) in [c; 3] { HERE }");
    finds("for x in 0.. { HERE }");
    finds("for x in .. { HERE }");
    finds("for x in 1..=y { HERE }");
    finds("for x in a::<{ 3 }>() { HERE }");
    finds("for x in async { y }.await? { HERE }");
    finds("while break { HERE }");
    finds("while return {} { HERE }");
}

#[test]
fn what_follows_braces_is_another_statement() {
    loops(
        "fn f() { if a {} for x in y {} (b); match c {} -1; {} loop {} &d; 'e: {} while f {} }",
        "fn f() { if a {} for x in y { POINT; } (b); match c {} -1; {} loop { POINT; } &d; 'e: {} while f { POINT; } }",
    );
    loops(
        "fn f() { match a { b => {} c => loop {} d => if e {} else {} f => g {}, h => i! {} j => {}.k(loop {}) + loop {}, _ => loop {} } }",
        "fn f() { match a { b => {} c => loop { POINT; } d => if e {} else {} f => g {}, h => i! {} j => {}.k(loop { POINT; }) + loop { POINT; }, _ => loop { POINT; } } }",
    );
}

#[test]
fn closures_are_left_alone() {
    leaves_alone("let a = || loop {};");
    leaves_alone("let a = |b: Vec<u8>, (c, d)| { loop {} };");
    leaves_alone("let a = move |b| -> Vec<fn() -> u8> { loop {} };");
    leaves_alone("let a = async move |b| { loop {} };");
    leaves_alone("let a = async || loop {};");
    leaves_alone("let a = for<'a> |b: &'a u8| -> u8 { loop {} };");
    leaves_alone("a.map(|b| match b { c => loop {} }).filter(|_| async { loop {} });");
    leaves_alone("let a = |b| |c| b + loop {};");
    finds("(a.map(|| loop {}), loop { HERE })");
    finds("{ let a = || { loop {} }; loop { HERE } }");
}

#[test]
fn items_inside_are_left_alone() {
    leaves_alone("fn a<T: Fn() -> u8>() -> Foo<{ 3 }> where T: Sized { loop {} }");
    leaves_alone("pub(crate) async unsafe fn a() { loop {} }");
    leaves_alone("const unsafe fn a() { loop {} }");
    leaves_alone("extern \"C\" fn a() { loop {} }");
    leaves_alone("impl<T> Foo<{ 3 }> for Bar<T> { fn a() { loop {} } }");
    leaves_alone("unsafe impl Foo for Bar { const A: u8 = loop {}; }");
    leaves_alone("trait A { fn a() { loop {} } }");
    leaves_alone("mod a { fn a() { loop {} } }");
    leaves_alone("const A: bool = { loop {} } < 3;");
    leaves_alone("const _: () = loop {};");
    leaves_alone("static mut A: u8 = { loop {} };");
    leaves_alone("enum A { B = { loop {} } }");
    leaves_alone("struct A([u8; { loop {} }]);");
    leaves_alone("struct A<const N: usize = { loop {} }>;");
    leaves_alone("type A = [u8; { loop {} }];");
    leaves_alone("use a::{b, c};");
    leaves_alone("macro_rules! a { () => { loop {} } }");
    leaves_alone("macro_rules! a (() => { loop {} });");
    leaves_alone("#[cfg(a)] union A { b: [u8; { loop {} }] }");
}

#[test]
fn what_runs_at_compile_time_is_left_alone() {
    leaves_alone("let a = const { loop {} };");
    leaves_alone("let a = [0; { loop {} }];");
    leaves_alone("let a: [u8; { loop {} }] = b;");
    leaves_alone("let a = b as [u8; { loop {} }];");
    leaves_alone("let a = b::<{ loop {} }>();");
    leaves_alone("if let const { loop {} } = a {}");
    finds("[loop { HERE }; { loop {} }]");
}

#[test]
fn macros_are_left_alone() {
    leaves_alone("a!(loop {});");
    leaves_alone("a! { loop {} }");
    leaves_alone("let b = c::a![loop {}].d;");
    finds("a!(loop {}).b(loop { HERE })");
}

#[test]
fn async_blocks_await() {
    loops(
        "fn f() { loop {} async move { loop {} }; async { loop { const { loop {} } } }.await }",
        "fn f() { loop { POINT; } async move { loop { AWAIT; } }; async { loop { AWAIT; const { loop {} } } }.await }",
    );
    loops("async fn f() { async { loop {} } }", "async fn f() { async { loop { AWAIT; } } }");
}

#[test]
fn calls_have_a_point_before_their_statement() {
    calls("fn f() { a(); }", "fn f() { POINT; a(); }");
    calls("async fn f() { a().await }", "async fn f() { AWAIT; a().await }");
    calls("fn f() { let x = &a(b()).c; x.d(); e }", "fn f() { POINT; let x = &a(b()).c; POINT; x.d(); e }");
    calls("fn f() { *a() = b.c()(); }", "fn f() { POINT; *a() = b.c()(); }");
    calls("fn f() { #[allow(x)] let a = b(); }", "fn f() { POINT; #[allow(x)] let a = b(); }");
    calls("fn f() { a::<B>(); <C as D>::e() }", "fn f() { POINT; a::<B>(); POINT; <C as D>::e() }");
    calls("fn f() -> Option<u8> { Some(1) }", "fn f() -> Option<u8> { POINT; Some(1) }");
}

/// Or what is the last expression under one condition would not be the last one any more.
#[test]
fn a_point_is_there_when_its_statement_is() {
    calls(
        "fn f() { #[cfg(a)] match b {} #[allow(c)] #[cfg(not(a))] d() }",
        "fn f() { #[cfg(a)] match b {} #[cfg(not(a))] POINT; #[allow(c)] #[cfg(not(a))] d() }",
    );
    calls(
        "fn f() { a(); #[cfg_attr(a, cfg(b))] c({ d() }); }",
        "fn f() { POINT; a(); #[cfg_attr(a, cfg(b))] c({ POINT; d() }); }",
    );
}

#[test]
fn blocks_have_statements_of_their_own() {
    calls(
        "fn f() { if a { b() } else { c() } if d() { e } match g { h => i(), j => { k(); } } unsafe { l() } }",
        "fn f() { if a { POINT; b() } else { POINT; c() } POINT; if d() { e } POINT; match g { h => i(), j => { POINT; k(); } } unsafe { POINT; l() } }",
    );
    calls(
        "fn f() { let x = { a() } + 1; let Some(y) = x else { b(); return }; let z = async { c() }; }",
        "fn f() { let x = { POINT; a() } + 1; let Some(y) = x else { POINT; b(); return }; let z = async { AWAIT; c() }; }",
    );
}

#[test]
fn a_loop_that_begins_with_a_call_has_one_point_there() {
    calls(
        "fn f() { while a() { b(); c(); } for x in y { ; fn d() { e() } #[g] h(); i } loop { j += 1; k() } }",
        "fn f() { POINT; while a() { POINT; b(); POINT; c(); } for x in y { POINT; ; fn d() { e() } #[g] h(); i } loop { POINT; j += 1; POINT; k() } }",
    );
}

#[test]
fn what_is_no_call_has_no_point() {
    let quiet = "let a = (b); let c = |d| e(d); let f = [0; g()]; h!(i()); fn j() { k() } l[0] = m; n! { o() } return (p)";
    calls(&format!("fn f() {{ a(); {quiet} }}"), &format!("fn f() {{ POINT; a(); {quiet} }}"));
}

#[test]
fn another_name_for_the_crate() {
    becomes(
        "crate = a::b, calls,",
        "async fn f() { loop {} c() }",
        "async fn f() { loop { a::b::preempt().await; } a::b::preempt().await; c() }",
    );
}

/// Variables of `macro_rules!` arrive in groups without delimiters.
#[test]
fn invisible_groups_are_looked_through() {
    let invisible = |text: &str| TokenTree::Group(Group::new(Delimiter::None, tokens(text)));
    let with = |before: &str, fragment: &str, after: &str| -> TokenStream {
        tokens(before).into_iter().chain([invisible(fragment)]).chain(tokens(after)).collect()
    };
    let in_body = |body: TokenStream| -> TokenStream {
        tokens("fn f()").into_iter().chain([TokenTree::Group(Group::new(Delimiter::Brace, body))]).collect()
    };
    let point = "::ropewalk::preempt_point();";
    let body = preemptible::expand(TokenStream::new(), with("fn f()", "{ loop {} }", "")).to_string();
    assert_eq!(body, with("fn f()", &format!("{{ loop {{ {point} }} }}"), "").to_string());
    for (before, fragment, after) in [
        ("loop", "{ HERE a }", ""),
        ("while", "a", "{ HERE b }"),
        ("let x =", "loop { HERE }", ";"),
        ("", "let x = loop { HERE };", ""),
        ("", "{ a }", "loop { HERE }"),
        ("fn g() { loop {} }", "loop { HERE }", ""),
        ("", "fn g() { loop {} }", "loop { HERE }"),
        ("match a", "{ b => loop { HERE } }", ""),
    ] {
        let fill = |with_what| {
            let [before, fragment, after] =
                [before, fragment, after].map(|text| text.replace("HERE", with_what));
            in_body(with(&before, &fragment, &after))
        };
        assert_eq!(preemptible::expand(TokenStream::new(), fill("")).to_string(), fill(point).to_string());
    }
}

#[test]
fn errors_come_before_the_function_as_it_was() {
    for (options, item, what) in [
        ("loops", "fn f() { loop {} }", "unknown option `loops`; there are: calls, crate = path"),
        ("", "const fn f() { loop {} }", "a `const fn` cannot give way"),
        ("", "fn f();", "a function without a body has no loops"),
        ("", "struct S;", "stands before a function with a body"),
        ("", "fn f() { a() }", "finds no loop here"),
        ("calls", "fn f() { || a(); }", "finds neither a loop nor a call here"),
    ] {
        let made = preemptible::expand(tokens(options), tokens(item)).to_string();
        assert!(made.starts_with(":: core :: compile_error !"), "{made}");
        assert!(made.contains(what), "{made}");
        assert!(made.ends_with(&tokens(item).to_string()), "{made}");
    }
}
