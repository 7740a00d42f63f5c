/**
 * Replaced versions. Reports, decisions and receipts name them, so they stay readable as long as evaluations; then the store
 * deletes them, since it would grow without bound otherwise.
 */
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import type { RequestContext } from '../../../gateway/api/route.ts';
import { update } from '../../store/changes.ts';
import type { Put, RecordType, Versioned } from '../../store/contract.ts';
import { evaluationLifetimeMs } from './evaluation-record.ts';

/** A version as it is stored. Its contents never change; that it was replaced is written down once. */
export interface ReplaceableVersion extends Versioned {
  readonly replacedAtMs?: number;
}

/** Versions of one policy or list that are kept at a time, with the newest. */
export const retainedVersionsMax = 100;

/** The index of the replaced versions of a policy or list. */
export function replacedIndices(ownerId: string, { replacedAtMs }: ReplaceableVersion): readonly string[] {
  return replacedAtMs === undefined ? [] : [`versions:replaced:${ownerId}`];
}

/** The version leaves the store in 30 days. Nothing for one that has been replaced before. */
export function replaced<T extends ReplaceableVersion>(type: RecordType<T>, before: T, nowMs: number): readonly Put[] {
  if (before.replacedAtMs !== undefined) return [];
  return [update(type, before, { ...before, version: before.version + 1, replacedAtMs: nowMs }, evaluationLifetimeMs)];
}

/** Throws ServiceError 409 when so many versions are kept that the next one must wait. */
export async function needRoomForVersion({ store, tenant }: RequestContext, ownerId: string): Promise<void> {
  const [index = ''] = replacedIndices(ownerId, { id: '', version: 1, replacedAtMs: 0 });
  // The newest and the next one are not among the replaced ones.
  if ((await store.count(tenant, index)) < retainedVersionsMax - 1) return;
  const message = `at most ${retainedVersionsMax} versions within 30 days`;
  throw new ServiceError('conflict', message, { details: [{ field: 'name', issue: 'too_many', message }] });
}
