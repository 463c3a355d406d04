/** The dialog that creates an application. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { completeTask, objectKey } from '../api/actions.ts'
import { refreshMatching } from '../api/live.ts'
import { FormDialog } from '../components/form-dialog.tsx'
import { TextField } from '../components/form-fields.tsx'
import { PermissionsField } from '../components/permissions-field.tsx'

const nameRule = 'Letters, digits and hyphens, beginning with a letter.'
const validName = /^[a-z][a-z0-9-]*$/i

export function CreateApplication() {
  const { route: navigate } = useLocation()
  const [values, setValues] = useState({ name: '', email: '', description: '' })
  const [permissions, setPermissions] = useState<Record<string, readonly string[]>>({})
  const [isTried, setTried] = useState(false)
  const name = values.name.trim().toLowerCase()
  const email = values.email.trim()
  const description = values.description.trim()
  const nameError = validName.test(name) ? undefined : nameRule
  const emailError = email === '' ? 'Enter the address of the owner: it tells others whom to ask.' : undefined
  const set = (change: Partial<typeof values>) => setValues({ ...values, ...change })
  const create = async (isOpen: () => boolean) => {
    const application = {
      name,
      email,
      ...(description !== '' && { description }),
      ...(Object.keys(permissions).length > 0 && { permissions }),
    }
    await completeTask({
      application: name,
      description: `Create application ${name}`,
      job: [{ type: 'createApplication', application }],
      object: objectKey('application', name),
    })
    refreshMatching('/applications')
    if (isOpen()) navigate(to.application(name))
    return undefined
  }
  return (
    <FormDialog
      title="Create application"
      action="Create application"
      isValid={nameError === undefined && emailError === undefined}
      onTried={() => setTried(true)}
      run={create}
    >
      <p class="muted">An application groups pipelines and what they deploy.</p>
      <TextField
        label="Name"
        value={values.name}
        help={nameRule}
        error={isTried ? nameError : undefined}
        required
        input={{ maxLength: 100 }}
        onChange={(text) => set({ name: text })}
      />
      <TextField
        label="Owner’s email address"
        value={values.email}
        error={isTried ? emailError : undefined}
        required
        input={{ type: 'email', autoComplete: 'on' }}
        onChange={(text) => set({ email: text })}
      />
      <TextField label="Description" value={values.description} onChange={(text) => set({ description: text })} />
      <details>
        <summary>Permissions</summary>
        <PermissionsField application={values.name || 'the application'} permissions={{}} onChange={setPermissions} />
      </details>
    </FormDialog>
  )
}
