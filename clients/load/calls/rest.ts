/** The signing API over REST. */
import { readBase64 } from '../../../proto/base64.ts';
import { answered, httpClient } from './http.ts';
import type { SignedAnswer, SigningAnswer, SigningCaller, SigningCurve } from './signing-caller.ts';

interface Body {
  readonly session_id?: string;
  readonly signing_session_id?: string;
  readonly full_signature?: string;
  readonly recovery_id?: string;
  readonly receipt: { readonly reason_code: string; readonly receipt_id: string } | null;
  readonly checkpoint: { readonly resume_token: string } | null;
}

/** At most `connections` requests are in progress; more wait in the client. */
export function restCaller(url: string, token: string, connections: number): SigningCaller {
  const client = httpClient(url, token, connections);

  async function call(path: string, body: string): Promise<Body> {
    return answered<Body>(await client.send('POST', path, body), 200);
  }

  return {
    async initiateSigning(intentId: string, walletId: string, message: Uint8Array): Promise<SigningAnswer> {
      const hash = Buffer.from(message.buffer, message.byteOffset, message.length).toString('base64');
      const body = `{"transaction_intent_id":"${intentId}","wallet_id":"${walletId}","message_hash":"${hash}"}`;
      return answerOf(await call('/v1/signing/initiate', body));
    },
    async submitShare(sessionId: string): Promise<SignedAnswer> {
      const body = await call('/v1/signing/share', `{"signing_session_id":"${sessionId}"}`);
      return {
        ...answerOf(body),
        signature: readBase64(body.full_signature ?? '') ?? new Uint8Array(),
        recoveryId: readBase64(body.recovery_id ?? '')?.[0] ?? -1,
      };
    },
    async initiateDkg(sessionId: string, curve: SigningCurve): Promise<SigningAnswer> {
      return answerOf(
        await call('/v1/dkg/initiate', `{"session_id":"${sessionId}","derivation":{"curve":"${curve}"}}`),
      );
    },
    async exchangeShares(sessionId: string): Promise<SigningAnswer> {
      return answerOf(await call('/v1/dkg/shares', `{"session_id":"${sessionId}"}`));
    },
    async resume(sessionId: string, resumeToken: string): Promise<SigningAnswer> {
      const body = JSON.stringify({ session_id: sessionId, resume_token: resumeToken });
      return answerOf(await call('/v1/sessions/resume', body));
    },
    close: () => client.close(),
  };
}

function answerOf({ session_id, signing_session_id, receipt, checkpoint }: Body): SigningAnswer {
  return {
    sessionId: signing_session_id ?? session_id ?? '',
    reasonCode: receipt?.reason_code ?? '',
    receiptId: receipt?.receipt_id ?? '',
    resumeToken: checkpoint?.resume_token ?? '',
  };
}
