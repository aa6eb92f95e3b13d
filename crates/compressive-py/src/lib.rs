//! The Python module `compressive._native`: what the package `compressive` is built on.
//!
//! A `Source` is a table (numpy array, Arrow stream, files); `sketch` sums its rows, `learn` learns from the
//! sums, and `model` applies models to tables. A `Collector` gets rows and gives sketches. Everything here
//! takes plain arguments; defaults, conveniences and scikit-learn's conventions are in Python.
//!
//! Long work runs without the interpreter's lock, on all processors, and stops at Ctrl-C.

mod array;
mod ask;
mod collector;
mod cube;
mod design;
mod error;
mod learn;
mod made;
mod model;
mod pass;
mod private;
mod program;
mod push;
mod show;
mod sketch;
mod source;
mod spec;
mod table;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("CompressiveError", module.py().get_type::<error::CompressiveError>())?;
    module.add("WAVES", spec::waves())?;
    module.add_class::<spec::SketchSpec>()?;
    module.add_class::<sketch::Sketch>()?;
    module.add_class::<private::PrivateSketch>()?;
    module.add_class::<source::Source>()?;
    module.add_class::<model::Model>()?;
    module.add_class::<collector::Collector>()?;
    module.add_function(wrap_pyfunction!(design::design, module)?)?;
    module.add_function(wrap_pyfunction!(design::defaults, module)?)?;
    module.add_function(wrap_pyfunction!(design::default_size, module)?)?;
    design::add_constants(module)?;
    module.add_function(wrap_pyfunction!(sketch::compare, module)?)?;
    module.add_function(wrap_pyfunction!(sketch::drift, module)?)?;
    module.add_function(wrap_pyfunction!(sketch::read, module)?)?;
    module.add_function(wrap_pyfunction!(private::privatize, module)?)?;
    module.add_function(wrap_pyfunction!(private::ledger, module)?)?;
    module.add_function(wrap_pyfunction!(learn::learn, module)?)?;
    module.add_function(wrap_pyfunction!(learn::classify, module)?)?;
    module.add_function(wrap_pyfunction!(learn::choose_method, module)?)?;
    module.add_class::<cube::CubeFile>()?;
    module.add_function(wrap_pyfunction!(cube::cube_write, module)?)?;
    module.add_function(wrap_pyfunction!(cube::sum_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(ask::query, module)?)?;
    module.add_function(wrap_pyfunction!(ask::diagnose, module)?)?;
    module.add_function(wrap_pyfunction!(ask::plan, module)?)?;
    module.add_function(wrap_pyfunction!(made::generate, module)?)?;
    module.add_function(wrap_pyfunction!(made::adjusted_rand, module)?)?;
    module.add_function(wrap_pyfunction!(show::report, module)?)?;
    module.add_function(wrap_pyfunction!(show::write, module)?)?;
    module.add_function(wrap_pyfunction!(program::program, module)?)?;
    compressive_io::hide_decoder_panics();
    Ok(())
}
