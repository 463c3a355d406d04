/** Errors of the database and of files as answers of an embedded back end. */

import { PortError } from '@fairlead/base/port-error.ts'
import { describeStorageFault } from '@fairlead/base/storage/database-fault.ts'

/** An error of the database or of a file that the operator can mend says so, with status 507; every other one stays as it is. */
export function toStorageError<E>(error: E): E | PortError {
  const message = describeStorageFault(error)
  return message === undefined ? error : new PortError(507, `${message} Nothing was changed.`)
}
