//! Runs a network that sateen exported as a static archive, libmlp.a, from Rust.
//!
//! The sizes of its blocks are those of libmlp.h; the build passes them on.

use std::ffi::{c_char, c_void, CStr};
use std::ptr::null;

#[repr(C)]
struct Tensor {
    data: *const c_void,
    device: [i32; 2],
    rank: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}

#[repr(C, align(64))]
struct Workspace([u8; 1 << 16]);

extern "C" {
    fn mlp_sateen_run(host: *const c_void, arguments: *const *const Tensor, count: i32) -> i32;
    fn mlp_sateen_parameters() -> *const c_void;
    fn mlp_sateen_status_message(status: i32) -> *const c_char;
}

const CPU: [i32; 2] = [1, 0];
const UNSIGNED: u8 = 1;
const FLOAT: u8 = 2;

/// A compact array in the processor's memory.
fn tensor(data: *const c_void, code: u8, bits: u8, shape: &[i64]) -> Tensor {
    let rank = shape.len() as i32;
    Tensor { data, device: CPU, rank, code, bits, lanes: 1, shape: shape.as_ptr(), strides: null(), byte_offset: 0 }
}

fn main() {
    let parameter_bytes = [env!("MLP_PARAMETER_BYTES").parse().unwrap()];
    let workspace_bytes: [i64; 1] = [env!("MLP_WORKSPACE_BYTES").parse().unwrap()];
    let mut workspace = Box::new(Workspace([0; 1 << 16]));
    assert!(workspace_bytes[0] as usize <= workspace.0.len());
    let data: Vec<f32> = (0..784).map(|i| (i % 17) as f32 / 16.0).collect();
    let mut probabilities = [0f32; 10];

    let tensors = [
        tensor(data.as_ptr().cast(), FLOAT, 32, &[1, 784]),
        tensor(probabilities.as_mut_ptr().cast(), FLOAT, 32, &[1, 10]),
        tensor(unsafe { mlp_sateen_parameters() }, UNSIGNED, 8, &parameter_bytes),
        tensor(workspace.0.as_mut_ptr().cast(), UNSIGNED, 8, &workspace_bytes),
    ];
    let arguments: Vec<*const Tensor> = tensors.iter().map(|t| t as *const Tensor).collect();
    let status = unsafe { mlp_sateen_run(null(), arguments.as_ptr(), arguments.len() as i32) };
    if status != 0 {
        let message = unsafe { CStr::from_ptr(mlp_sateen_status_message(status)) };
        panic!("mlp: {}", message.to_string_lossy());
    }
    let shown: Vec<String> = probabilities.iter().map(|p| format!("{p:.6}")).collect();
    println!(" {}", shown.join(" "));
}
