/**
 * HTTP faults of a gateway's API, where its answers leave it: late answers, answers lost after their effect or cut in their body,
 * and refusals. While no fault is armed, requests pass unchanged.
 */
import type { Serve, ServeResponse } from '../../gateway/serve/contract.ts';
import { isFaultyPath, isUntouched, refusalOf } from '../../scenarios/faults/api-fault-answers.ts';
import type { ApiServerRequest, ApiServerVerdict } from '../../scenarios/faults/vocabulary/engine-contract.ts';

/** undefined: no fault is armed. */
export type ApiFaults = (request: ApiServerRequest) => ApiServerVerdict | undefined;

const touched = new WeakMap<ServeResponse, 'severed' | 'refused'>();

/** `severed`: a client gets none or only a part of it. `refused`: no gateway has seen the request. */
export function faultOf(response: ServeResponse): 'severed' | 'refused' | undefined {
  return touched.get(response);
}

/** `serve` with faults; `pause` resolves after this time. */
export function faultyServe(serve: Serve, faults: ApiFaults, pause: (ms: number) => Promise<void>): Serve {
  return async (request) => {
    const [path = ''] = request.target.split('?', 1);
    const verdict = isFaultyPath(path) ? faults({ door: 'http', method: request.method, path }) : undefined;
    if (verdict === undefined || isUntouched(verdict)) return serve(request);
    const { fate, delayMs } = verdict;
    if (fate === 'refused') {
      await pause(delayMs);
      const refusal = refusalOf(verdict, request.entry?.requestId ?? 'req_fault');
      touched.set(refusal, 'refused');
      return refusal;
    }
    const response = await serve(request);
    await pause(delayMs);
    if (fate === 'answered') return response;
    const broken = brokenOff(response, fate === 'cut');
    touched.set(broken, 'severed');
    return broken;
  };
}

/** Ends the connection in place of the answer, or within its body. */
function brokenOff({ status, headers, body = '', stream }: ServeResponse, hasBegun: boolean): ServeResponse {
  return {
    ...{ status, headers },
    stream: async function* (cut) {
      if (hasBegun) {
        const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
        if (stream === undefined) yield text.slice(0, Math.floor(text.length / 2));
        else yield* firstOf(stream(cut));
        // The part is sent before the connection ends.
        await new Promise((resolve) => setImmediate(resolve));
      }
      cut();
    },
  };
}

async function* firstOf(pieces: AsyncIterableIterator<string>): AsyncGenerator<string> {
  const { done, value } = await pieces.next();
  if (done !== true) yield value;
  await pieces.return?.();
}
