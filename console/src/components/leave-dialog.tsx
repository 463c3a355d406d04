/** Asked before unsaved changes are lost. */
import { words } from '../words.ts'
import { Button } from './button.tsx'
import { closeDialog, Dialog, openDialog } from './dialog.tsx'

/** @param text What would be lost. */
export function openLeaveDialog(text: string, leave: () => void): void {
  const footer = (
    <>
      <Button onClick={closeDialog}>{words.stay}</Button>
      <Button
        kind="destructive"
        onClick={() => {
          closeDialog()
          leave()
        }}
      >
        {words.discardChanges}
      </Button>
    </>
  )
  openDialog(
    <Dialog title={words.leaveTitle} footer={footer} class="is-narrow">
      <p>{text}</p>
    </Dialog>,
  )
}
