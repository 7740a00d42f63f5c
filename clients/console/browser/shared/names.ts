/** What the page makes up for its own keys and signatures. */
import type { ConsoleBrowser } from './dom.ts';

/** Differs from every one before. */
export function newName({ performance }: Pick<ConsoleBrowser, 'performance'>): string {
  return Math.floor(performance.now() * 1_000).toString(36) + Date.now().toString(36);
}

/** 32 bytes in base64. */
export function randomDigest({ btoa, crypto }: Pick<ConsoleBrowser, 'btoa' | 'crypto'>): string {
  return btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))));
}
