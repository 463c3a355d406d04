/** Errors of the database and of files as answers of an embedded back end. */
import { type StorageFault, storageFaultOf } from '../../storage/database-fault.ts'
import { BackendError } from '../backend.ts'

/** The message for the client. */
const storageFaults: Readonly<Partial<Record<StorageFault, string>>> = {
  'read-only': 'The data directory cannot be written to. Make it writable, then try again.',
  failing: 'The disk of the data directory fails. Look at the log of the machine, then try again.',
  full: 'The disk of the data directory is full. Free some space, then try again.',
}

/** The same of files. */
const fileFaults: Readonly<Record<string, StorageFault>> = {
  EROFS: 'read-only',
  EIO: 'failing',
  ENOSPC: 'full',
  EDQUOT: 'full',
}

/** An error of the database or of a file that the operator can mend says so, with status 507; every other one stays as it is. */
export function toStorageError<E>(error: E): E | BackendError {
  const fault = storageFaultOf(error) ?? fileFaults[(error as NodeJS.ErrnoException | undefined)?.code ?? '']
  const message = fault && storageFaults[fault]
  return message === undefined ? error : new BackendError(507, `${message} Nothing was changed.`)
}
