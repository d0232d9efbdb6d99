import React from 'react';
import { ISignal, Signal } from '@lumino/signaling';
import { SplitPanel, Widget } from '@lumino/widgets';
import { ReactWidget, UseSignal } from '@jupyterlab/ui-components';
import { Body } from './components/Body';
import { DoctorContext, IDoctor } from './context';
import { doctorIcon } from './icons';

const FIRST_WIDTH = 360;
/** JupyterLab opens a side panel at 250 pixels, where nobody has chosen a width. */
const SMALLEST_WIDTH = 260;

/** The side panel. */
export class KernelDoctorPanel extends ReactWidget {
  constructor(private readonly _doctor: IDoctor) {
    super();
    const { trans } = _doctor;
    this.id = 'kerneldoctor-panel';
    this.addClass('jp-KernelDoctor');
    this.title.icon = doctorIcon;
    this.title.caption = trans.__('Kernel Doctor');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', trans.__('Kernel Doctor'));
  }

  protected onAfterShow(): void {
    void this._doctor.model.refresh();
    this._visibility.emit();
    requestAnimationFrame(() => this._widen());
  }

  protected onAfterHide(): void {
    this._visibility.emit();
  }

  /** Emitted when the panel was shown or hidden. */
  get visibility(): ISignal<this, void> {
    return this._visibility;
  }

  protected render(): JSX.Element {
    return (
      <DoctorContext.Provider value={this._doctor}>
        <UseSignal signal={this._doctor.model.changed}>
          {() => <Body />}
        </UseSignal>
      </DoctorContext.Provider>
    );
  }

  /** Give the panel room when it is first opened at JupyterLab's smallest width; what the user chose later stays. */
  private _widen(): void {
    let side: Widget | null = this.parent;
    while (side && !(side.parent instanceof SplitPanel)) {
      side = side.parent;
    }
    const split = side?.parent as SplitPanel | undefined;
    const missing = FIRST_WIDTH - this.node.offsetWidth;
    if (this._isWidened || !side || !split || missing <= 0) {
      return;
    }
    this._isWidened = true;
    if (this.node.offsetWidth > SMALLEST_WIDTH) {
      return;
    }
    const sizes = split.relativeSizes();
    const share = missing / split.node.offsetWidth;
    const at = split.widgets.indexOf(side);
    const widest = sizes.indexOf(Math.max(...sizes));
    sizes[at] += share;
    sizes[widest] -= share;
    split.setRelativeSizes(sizes);
  }

  private _isWidened = false;
  private readonly _visibility = new Signal<this, void>(this);
}
