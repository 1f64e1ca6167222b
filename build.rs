//! Generates the C header and the PHP declarations from `src/capi`, and names the shared library.
//!
//! Both files go to OUT_DIR; `make header` copies them to where they are committed, and a test
//! compares. So a build never writes into the source tree.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use cbindgen::{Builder, Config, DocumentationStyle, ItemType, Language, Style};

const SOURCES: [&str; 2] = ["src/capi/types.rs", "src/capi/mod.rs"];
const MANUAL: &str = "src/capi/manual.h";

fn main() -> Result<(), Box<dyn Error>> {
    for input in SOURCES.into_iter().chain(["build.rs", MANUAL]) {
        println!("cargo::rerun-if-changed={input}");
    }
    let out = PathBuf::from(env::var("OUT_DIR")?);
    generate(header()?, &out.join("ratelite.h"))?;
    generate(declarations(), &out.join("ratelite.cdef.h"))?;
    println!("cargo::rustc-env=RATELITE_GENERATED={}", out.display());
    name_library(&out)
}

fn generate(config: Config, file: &Path) -> Result<(), Box<dyn Error>> {
    let sources = SOURCES.iter().fold(Builder::new(), |builder, file| builder.with_src(file));
    sources.with_config(config).generate()?.write_to_file(file);
    Ok(())
}

/// For C99 to C23 and C++.
fn header() -> Result<Config, Box<dyn Error>> {
    let mut config = common();
    config.header = Some(fs::read_to_string(MANUAL)?.trim_end().to_owned());
    config.include_guard = Some("RATELITE_H".into());
    config.cpp_compat = true;
    config.sys_includes = vec!["stddef.h".into(), "stdint.h".into()];
    config.after_includes = Some(version_macros()?);
    config.documentation_style = DocumentationStyle::Doxy;
    Ok(config)
}

/// For parsers without a preprocessor (PHP FFI, cffi): no macro, no include, no comment.
fn declarations() -> Config {
    let mut config = common();
    config.documentation = false;
    config.export.item_types =
        vec![ItemType::Structs, ItemType::OpaqueItems, ItemType::Functions, ItemType::Typedefs];
    config
}

fn common() -> Config {
    let mut config = Config {
        language: Language::C,
        style: Style::Both,
        no_includes: true,
        usize_is_size_t: true,
        line_length: 90,
        ..Config::default()
    };
    config.sort_by = cbindgen::SortKey::None;
    config.function.sort_by = Some(cbindgen::SortKey::None);
    config.constant.sort_by = Some(cbindgen::SortKey::None);
    config
}

fn version_macros() -> Result<String, env::VarError> {
    let number = |part| env::var(format!("CARGO_PKG_VERSION_{part}"));
    Ok(format!(
        "\n/* The version of this header; rl_version() gives that of the library that is loaded. */\n\
         #define RL_VERSION \"{}\"\n\
         #define RL_VERSION_MAJOR {}\n\
         #define RL_VERSION_MINOR {}\n\
         #define RL_VERSION_PATCH {}",
        env::var("CARGO_PKG_VERSION")?,
        number("MAJOR")?,
        number("MINOR")?,
        number("PATCH")?,
    ))
}

/// The soname carries the ABI's number, so programs look for `libratelite.so.1`. Cargo makes only
/// `libratelite.so`; the link beside it lets a program run straight from the build directory.
fn name_library(out: &Path) -> Result<(), Box<dyn Error>> {
    let soname = format!("libratelite.so.{}", abi_version()?);
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{soname}");
    // Fork handlers and parked descriptors outlive dlclose().
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    // OUT_DIR is <profile>/build/<package>/out.
    if let Some(profile) = out.ancestors().nth(3) {
        let link = profile.join(soname);
        if link.symlink_metadata().is_err() {
            std::os::unix::fs::symlink("libratelite.so", link)?;
        }
    }
    Ok(())
}

fn abi_version() -> Result<String, Box<dyn Error>> {
    let types = fs::read_to_string(SOURCES[0])?;
    let (_, rest) = types.split_once("RL_ABI_VERSION: c_int = ").ok_or("no RL_ABI_VERSION")?;
    let (number, _) = rest.split_once(';').ok_or("no end of RL_ABI_VERSION")?;
    Ok(number.to_owned())
}
