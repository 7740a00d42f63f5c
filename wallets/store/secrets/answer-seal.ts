/** Seals the stored answers of idempotent requests: one of them may hold the secret of a new webhook. */
import { open, type SealAbout, seal } from './envelope.ts';
import type { KeyRing } from './key-ring.ts';

export interface AnswerSeal {
  /** `about` names the request, e.g. its tenant and the hash of its key. */
  seal(plain: string, about: string): string;
  /** Throws EnvelopeBroken when it was sealed for another request. */
  open(sealed: string, about: string): string;
}

export function answerSeal(ring: KeyRing): AnswerSeal {
  return {
    seal: (plain, about) => seal(ring, aboutAnswer(about), plain),
    open: (sealed, about) => open(ring, aboutAnswer(about), sealed),
  };
}

function aboutAnswer(about: string): SealAbout {
  return { purpose: 'answer', tenant: '', kind: 'idempotent_request', id: about };
}
