export { createSHA256 } from 'hash-wasm'
