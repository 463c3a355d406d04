/** Dialogs with a form, whose result is submitted as a task or returned to the caller. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { Field } from '@fairlead/model/stage-types/description.ts'
import { type Application, core, submit, useState } from './deck.ts'
import { Fields } from './fields.tsx'

interface FormDialog {
  readonly application: Application
  readonly title: string
  readonly fields: readonly Field[]
  readonly value: JsonObject
  /** Label of the button. */
  readonly action: string
  /** The job to run; without it, the dialog returns the values. */
  readonly toJob?: (value: JsonObject) => JsonObject
  /** What the task changes. */
  readonly refresh?: () => unknown
}

interface DialogProps extends FormDialog {
  readonly closeModal: (value?: JsonObject) => void
  readonly dismissModal: () => void
}

/** @returns the values of the form; rejects when users dismiss it */
export function openForm(dialog: FormDialog): Promise<unknown> {
  return core.ReactModal.show(FormDialogView, dialog, { dialogClassName: 'modal-lg' })
}

function FormDialogView({ closeModal, dismissModal, ...dialog }: DialogProps) {
  const { application, title, fields, action, toJob } = dialog
  const [value, setValue] = useState(dialog.value)
  const [monitor] = useState(
    () =>
      new core.TaskMonitor({
        application,
        title,
        onDismiss: () => dismissModal(),
        modalInstance: core.TaskMonitor.modalInstanceEmulation?.(() => dismissModal()),
        onTaskComplete: () => dialog.refresh?.(),
      }),
  )
  const missing = fields.filter(
    ({ name, otherNames = [], required }) =>
      required && ![name, ...otherNames].some((key) => isSet(value[key])),
  )
  const finish = () =>
    toJob === undefined
      ? closeModal(value)
      : monitor.submit(() => submit(application, title, toJob(value)))
  return (
    <div>
      <core.TaskMonitorWrapper monitor={monitor} />
      <core.ModalClose dismiss={dismissModal} />
      <div className="modal-header">
        <h4 className="modal-title">{title}</h4>
      </div>
      <div className="modal-body" style={{ maxHeight: '70vh', overflowY: 'auto' }}>
        <Fields
          application={application.name}
          fields={fields}
          value={value}
          onChange={(changes) => setValue((before) => ({ ...before, ...changes }))}
        />
      </div>
      <div className="modal-footer">
        <button type="button" className="btn btn-default" onClick={() => dismissModal()}>
          Cancel
        </button>
        <button
          type="button"
          className="btn btn-primary"
          disabled={missing.length > 0}
          onClick={finish}
        >
          {action}
        </button>
      </div>
    </div>
  )
}

function isSet(value: unknown) {
  return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== ''
}

interface Confirmation {
  readonly application: Application
  readonly title: string
  readonly action: string
  readonly account: string
  readonly job: JsonObject
  readonly refresh: () => unknown
}

/** Asks, then submits the job and shows its task. */
export function confirm({ application, title, action, account, job, refresh }: Confirmation): void {
  core.ConfirmationModalService.confirm({
    header: `Really ${title.charAt(0).toLowerCase()}${title.slice(1)}?`,
    buttonText: action,
    account,
    taskMonitorConfig: { application, title, onTaskComplete: refresh },
    submitMethod: () => submit(application, title, job),
  })
}
