"""Proofs that a release draws from the laws it states.

certificate.py        writes the laws of a release as tables of whole numbers, with the exact amplification counted from them
check_certificate.py  checks such a file; it imports nothing of ours, so that anyone who doubts us can read it and run it

Start with the docstring of check_certificate.py, which says what is proved.
"""

from sfumato.certificates.certificate import CERTIFICATE, Certificate, certify
from sfumato.certificates.check_certificate import Wrong, check
