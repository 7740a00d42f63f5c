/**
 * REST over keep-alive connections of HTTP/1.1, one request at a time on each. Through undici's `dispatch`, its cheapest
 * way: the load generator shares the machine with what it measures.
 */
import { Pool } from 'undici';
import type { Answer, Curve, Door, Signed } from './door.ts';

interface Body {
  readonly session_id?: string;
  readonly signing_session_id?: string;
  readonly full_signature?: string;
  readonly recovery_id?: string;
  readonly receipt: { readonly reason_code: string; readonly message: string };
}

const answerWithinMs = 30_000;

/** At most `connections` requests are under way; more wait in the client. */
export function restDoor(url: string, token: string, connections: number): Door {
  const pool = new Pool(url, {
    connections,
    pipelining: 1,
    headersTimeout: answerWithinMs,
    bodyTimeout: answerWithinMs,
  });
  const headers = ['authorization', `Bearer ${token}`, 'content-type', 'application/json'];

  function call(path: string, body: string): Promise<Body> {
    return new Promise((resolve, reject) => {
      let status = 0;
      const chunks: Buffer[] = [];
      pool.dispatch(
        { path, method: 'POST', headers, body },
        {
          onRequestStart() {},
          onResponseStart(_controller, statusCode) {
            status = statusCode;
          },
          onResponseData(_controller, chunk) {
            chunks.push(chunk);
          },
          onResponseEnd() {
            const text = (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)).toString();
            if (status === 200) resolve(JSON.parse(text) as Body);
            else reject(new Error(`HTTP ${status}`));
          },
          onResponseError(_controller, error) {
            reject(error);
          },
        },
      );
    });
  }

  return {
    name: 'rest',
    async initiateSigning(intentId: string, walletId: string, digest: Uint8Array): Promise<Answer> {
      const hash = Buffer.from(digest.buffer, digest.byteOffset, digest.length).toString('base64');
      const body = `{"transaction_intent_id":"${intentId}","wallet_id":"${walletId}","message_hash":"${hash}"}`;
      return answerOf(await call('/v1/signing/initiate', body));
    },
    async submitShare(sessionId: string): Promise<Signed> {
      const body = await call('/v1/signing/share', `{"signing_session_id":"${sessionId}"}`);
      return {
        ...answerOf(body),
        signature: Buffer.from(body.full_signature ?? '', 'base64'),
        recoveryId: Buffer.from(body.recovery_id ?? '', 'base64')[0] ?? -1,
      };
    },
    async initiateDkg(sessionId: string, curve: Curve): Promise<Answer> {
      return answerOf(
        await call('/v1/dkg/initiate', `{"session_id":"${sessionId}","derivation":{"curve":"${curve}"}}`),
      );
    },
    async exchangeShares(sessionId: string): Promise<Answer> {
      return answerOf(await call('/v1/dkg/shares', `{"session_id":"${sessionId}"}`));
    },
    close: () => pool.close(),
  };
}

function answerOf({ session_id, signing_session_id, receipt }: Body): Answer {
  const { reason_code: reasonCode, message } = receipt;
  return { sessionId: signing_session_id ?? session_id ?? '', reasonCode, message };
}
