/** The events of vaults, their keys and their signatures. */
import { eventOf, type Reporter } from '../../../gateway/api/event.ts';
import type { NewEvent } from '../../store/contract.ts';
import type { VaultKeyRecord, VaultRecord } from './record.ts';
import { vaultKeyView, vaultView } from './view.ts';

export function vaultEvent(reporter: Reporter, happening: 'created' | 'archived', vault: VaultRecord): NewEvent {
  return eventOf(reporter, {
    type: `vault.${happening}`,
    resource: 'vault',
    record: vault,
    object: vaultView(vault),
    provider: 'self_hosted',
  });
}

export function keyEvent(reporter: Reporter, happening: 'created' | 'deleted', key: VaultKeyRecord): NewEvent {
  return eventOf(reporter, {
    type: `vault.key_${happening}`,
    resource: 'vault_key',
    record: key,
    object: vaultKeyView(key),
    provider: 'self_hosted',
  });
}

/** `object`: in the form of `VaultSignatureSummary`. */
export function signatureEvent(
  reporter: Reporter,
  happening: 'completed' | 'pending' | 'denied',
  id: string,
  object: object,
): NewEvent {
  return eventOf(reporter, {
    type: `vault.signature_${happening}`,
    resource: 'vault_signature',
    record: { id, version: 1 },
    object,
    provider: 'self_hosted',
  });
}
