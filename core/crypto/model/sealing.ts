/**
 * NOT CRYPTOGRAPHY: boxes under a key that follows from public values. The recipient's secret serves only to find its
 * public key; a changed box, key or associated data fails as with real boxes, which have the same lengths.
 */
import { concatBytes, equalBytes, transcriptHash } from '../bytes.ts';
import { sha512 } from '../hashing.ts';
import { type SealingScheme, sealBroken } from '../sealing-x25519.ts';

const TAG_BYTES = 16;
const PAD_BYTES = 64;

export const modelSealing: SealingScheme = {
  publicKeyOf,
  seal(recipientPublicKey, plaintext, associatedData, ephemeralSeed) {
    const body = padded(plaintext, recipientPublicKey, ephemeralSeed);
    return concatBytes(ephemeralSeed, body, tagOf(recipientPublicKey, ephemeralSeed, body, associatedData));
  },
  open({ secretKey }, box, associatedData) {
    const recipient = publicKeyOf(secretKey);
    const ephemeral = box.subarray(0, 32);
    const body = box.subarray(32, box.length - TAG_BYTES);
    const tag = tagOf(recipient, ephemeral, body, associatedData);
    if (!equalBytes(tag, box.subarray(box.length - TAG_BYTES))) throw sealBroken();
    return padded(body, recipient, ephemeral);
  },
};

function publicKeyOf(secretKey: Uint8Array): Uint8Array {
  return transcriptHash('signmesh/model/sealing-key', secretKey);
}

function tagOf(recipient: Uint8Array, ephemeral: Uint8Array, body: Uint8Array, associatedData: Uint8Array): Uint8Array {
  return transcriptHash('signmesh/model/box', recipient, ephemeral, body, associatedData).subarray(0, TAG_BYTES);
}

/** Makes the text unreadable in a trace; applied twice it gives the text back. */
function padded(text: Uint8Array, recipient: Uint8Array, ephemeral: Uint8Array): Uint8Array {
  const result = text.slice();
  const pad = sha512(recipient, ephemeral);
  for (let index = 0; index < result.length; index++) result[index]! ^= pad[index % PAD_BYTES]!;
  return result;
}
