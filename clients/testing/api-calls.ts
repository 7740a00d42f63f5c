/** Questions about signing, answered over the HTTP API: each goes to the cluster of its session or key. */
import type { CallName, CallTypes, Questions } from '../../scenarios/runner/world.ts';
import { ApiError, CallFailed, noAnswerOf, type SandboxApi } from './sandbox-api.ts';

/** Rejects with ApiError for a refusal that no caller of the signing API gets. */
export async function callOverApi(
  api: SandboxApi,
  { name, request, keystoreType }: Questions['call']['asks'],
): Promise<Questions['call']['gets']> {
  try {
    if (name === 'initiateDkg' && keystoreType !== undefined) {
      return { response: await api.beginKey(request as CallTypes['initiateDkg'][0], keystoreType) };
    }
    if (name === 'refreshKey') return { response: await api.refreshKey(request) };
    const send = api[name] as unknown as (request: unknown) => Promise<CallTypes[CallName][1]>;
    return { response: await send(request) };
  } catch (error) {
    if (error instanceof CallFailed) return noAnswerOf(error);
    throw error;
  }
}

export async function previewOverApi(
  api: SandboxApi,
  { sessionId, nodeId }: Questions['previewPartial']['asks'],
): Promise<Questions['previewPartial']['gets']> {
  try {
    return { partial: await api.previewPartial(sessionId, nodeId) };
  } catch (error) {
    if (error instanceof ApiError) return { failure: error.message };
    throw error;
  }
}
