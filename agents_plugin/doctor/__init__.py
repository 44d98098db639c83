"""What `agents doctor` looks at. Every check is bounded, reads only, and gives findings; none of them raises."""
