/** Check of the application that a definition names. */
import { findApplicationNameObjection, quoteName } from '@fairlead/base/names/application-name.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { findCharacterObjection } from '@fairlead/base/names/user-name.ts'
import type { Definitions } from './collections.ts'
import { refusal } from './requests.ts'

/** @throws {PortError} 400 when no application may get the name; what surrounds it is taken off before */
export function checkNewName(name: string): void {
  refuse(name, findApplicationNameObjection(name))
}

function refuse(name: string, objection: string | undefined): void {
  if (objection !== undefined) {
    throw refusal(
      `The application name ${quoteName(name)} ${objection}. Choose letters, digits, hyphens and underscores.`,
    )
  }
}

/**
 * What is saved for an application that does not exist must not look as if it belonged to another one. Applications that exist keep their
 * names, and so does what is stored under them.
 *
 * @throws {PortError} 400
 */
export function checkApplicationName(
  { applications }: Definitions,
  name: string,
  stored?: unknown,
): void {
  if (foldName(name) === foldName(String(stored ?? '')) || applications.has(foldName(name))) return
  refuse(name, findCharacterObjection(name))
}
