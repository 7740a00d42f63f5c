/** Frames that arrive so that they do not decode. */

/** Field 1 of the wire type 7, which protobuf does not have. */
const brokenTag = 0x0f;

/** `corrupt`: one byte is another; `truncate`: only the first half is left. Neither changes what is handed in. */
export function damaged(frame: Uint8Array, how: 'corrupt' | 'truncate'): Uint8Array {
  if (how === 'truncate') return frame.subarray(0, Math.floor(frame.length / 2));
  const bytes = frame.slice();
  // The byte behind the length is the tag of the first field.
  const tag = bytes.findIndex((byte) => byte < 0x80) + 1;
  bytes[tag] = brokenTag;
  return bytes;
}
