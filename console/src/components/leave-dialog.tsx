/** Asked before unsaved changes are lost. */
import { words } from '../words.ts'
import { closeDialog, Dialog, openDialog } from './dialog.tsx'

/** @param text What would be lost. */
export function openLeaveDialog(text: string, leave: () => void): void {
  const footer = (
    <>
      <button type="button" class="button" onClick={closeDialog}>
        {words.stay}
      </button>
      <button
        type="button"
        class="button is-destructive"
        onClick={() => {
          closeDialog()
          leave()
        }}
      >
        {words.discardChanges}
      </button>
    </>
  )
  openDialog(
    <Dialog title={words.leaveTitle} footer={footer} class="is-narrow">
      <p>{text}</p>
    </Dialog>,
  )
}
