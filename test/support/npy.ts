/** An npy file of bytes. */
export function npyOf(shape: readonly number[], pixels: Uint8Array): Uint8Array {
  const text = `{'descr': '|u1', 'fortran_order': False, 'shape': (${shape.join(', ')}), }\n`
  const head = Buffer.concat([Buffer.from('\x93NUMPY\x01\x00', 'latin1'), Buffer.alloc(2), Buffer.from(text)])
  head.writeUInt16LE(text.length, 8)
  return Buffer.concat([head, pixels])
}
