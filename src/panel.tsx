import React from 'react';
import { ISignal, Signal } from '@lumino/signaling';
import { ReactWidget, UseSignal } from '@jupyterlab/ui-components';
import { Body } from './components/Body';
import { DoctorContext, IDoctor } from './context';
import { doctorIcon } from './icons';

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

  /** Read the list: no event reports that a kernel is stuck. */
  protected onAfterShow(): void {
    void this._doctor.model.refresh();
    this._visibility.emit();
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

  private readonly _visibility = new Signal<this, void>(this);
}
