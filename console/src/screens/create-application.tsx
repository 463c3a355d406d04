/** The dialog that creates an application. */
import { useState } from 'preact/hooks'
import { to, useNavigate } from '../address.ts'
import { completeTask, objectKey } from '../api/actions.ts'
import { taskOperation, useDenial } from '../api/rights.ts'
import { FormDialog } from '../components/form-dialog.tsx'
import { Fields } from '../components/form-fields.tsx'
import { useSettled } from '../components/kept.tsx'
import { PermissionsField } from '../components/permissions-field.tsx'

const nameRule = 'Letters, digits and hyphens, beginning with a letter.'
const noOwner = 'Enter the address of the owner: it tells others whom to ask.'

export function CreateApplication() {
  const navigate = useNavigate()
  const [values, setValues] = useState({ name: '', email: '', description: '' })
  const [permissions, setPermissions] = useState<Record<string, readonly string[]>>({})
  const [isTried, setTried] = useState(false)
  const name = values.name.trim().toLowerCase()
  const [email, description] = [values.email.trim(), values.description.trim()]
  const isNamed = /^[a-z][a-z0-9-]*$/.test(name)
  const asked = useSettled(isNamed ? name : '', 250)
  const denied = useDenial(taskOperation, asked || undefined)
  const create = () => {
    const given = {
      ...(description !== '' && { description }),
      ...(Object.keys(permissions).length > 0 && { permissions }),
    }
    return completeTask({
      application: name,
      description: `Create application ${name}`,
      job: [{ type: 'createApplication', application: { name, email, ...given } }],
      object: objectKey('application', name),
    })
  }
  const errorIf = (isWrong: boolean, text: string) => (isTried && isWrong ? text : undefined)
  const ownerInput = { type: 'email', autoComplete: 'on' } as const
  const fields = {
    name: {
      label: 'Name',
      help: nameRule,
      error: denied ?? errorIf(!isNamed, nameRule),
      required: true,
      input: { maxLength: 100 },
    },
    email: {
      label: 'Owner’s email address',
      error: errorIf(email === '', noOwner),
      required: true,
      input: ownerInput,
    },
    description: { label: 'Description' },
  }
  return (
    <FormDialog
      {...{
        action: 'Create application',
        isValid: isNamed && email !== '' && denied === undefined,
        run: create,
        refreshes: '/applications',
      }}
      onTried={() => setTried(true)}
      onDone={() => navigate(to.application(name))}
    >
      <p class="muted">An application groups pipelines and what they deploy.</p>
      <Fields
        fields={fields}
        values={values}
        onChange={(field, value) => setValues({ ...values, [field]: value })}
      />
      <details>
        <summary>Permissions</summary>
        <PermissionsField
          application={values.name || 'the application'}
          permissions={{}}
          onChange={setPermissions}
        />
      </details>
    </FormDialog>
  )
}
